/** `GET /api/coupon/list`: the store's coupons, newest first. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { listRequest, NEWEST_FIRST } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { paging } from '#query/reading/paging.ts';
import { CouponSummary } from '#query/records/coupon.ts';
import { Flag } from '#query/records/fields.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['store'],
  parameters: {
    ...paging,
    active: optional(oneOf(['true', 'false'], Flag), {
      description: 'Only coupons that are switched on, or only those that are not.',
    }),
  },
  documentation: {
    operationId: 'listCoupons',
    tag: 'Coupons',
    summary: 'List coupons',
    description: 'The coupons of the store, newest first.',
    answer: page(CouponSummary),
    links: [{ operationId: 'getCoupon', parameter: 'coupon_id', from: '/results/0/id' }],
  },
  shows: ['coupon'],
  read: (view, { page, page_size: pageSize, active }) =>
    readList(
      view,
      listRequest({
        entity: 'coupon',
        where: active === null ? {} : { active: active === 'true' },
        sort: NEWEST_FIRST,
        page,
        pageSize,
      }),
    ),
});
