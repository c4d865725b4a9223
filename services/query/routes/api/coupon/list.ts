/** `GET /api/coupon/list`: the store's coupons, newest first. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { NEWEST_FIRST, readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['store'],
  parameters: { ...paging, active: optional(oneOf(['true', 'false'])) },
  shows: ['coupon'],
  read: (view, { page, page_size: pageSize, active }) =>
    readList(view, {
      collection: COLLECTIONS.coupon,
      filter: () => (active === null ? {} : { active: active === 'true' }),
      sort: NEWEST_FIRST,
      page,
      pageSize,
    }),
});
