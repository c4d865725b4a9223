/** `GET /api/coupon/list`: the store's coupons, newest first. */
import { listEndpoint } from '#query/list-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { NEWEST_FIRST } from '#query/reading/list-request.ts';
import { Flag } from '#query/records/fields.ts';

export default listEndpoint('coupon', {
  description: 'The coupons of the store, newest first.',
  filters: {
    active: optional(oneOf(['true', 'false'], Flag), {
      description: 'Only coupons that are switched on, or only those that are not.',
    }),
  },
  links: [{ operationId: 'getCoupon', parameter: 'coupon_id', from: '/results/0/id' }],
  ask: ({ active }) => ({
    where: active === null ? {} : { active: active === 'true' },
    sort: NEWEST_FIRST,
  }),
});
