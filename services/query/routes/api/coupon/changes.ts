/** `GET /api/coupon/changes`: the store's coupons that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { CouponSummary } from '#query/records/coupon.ts';

export default changesEndpoint({
  entity: 'coupon',
  scopes: ['store'],
  operationId: 'followCoupons',
  tag: 'Coupons',
  plural: 'coupons',
  type: CouponSummary,
});
