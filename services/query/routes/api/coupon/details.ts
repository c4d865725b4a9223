/** `GET /api/coupon/details/`: one coupon, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Coupon } from '#query/records/coupon.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['store'],
  parameters: {
    coupon_id: required(id, { description: 'The coupon, as lists and orders name it.', example: 'k15' }),
  },
  documentation: {
    operationId: 'getCoupon',
    tag: 'Coupons',
    summary: 'Get a coupon',
    description: 'One coupon, with its limits and how often it was used.',
    answer: one(Coupon),
  },
  shows: ['coupon'],
  read: (view, { coupon_id: couponId }) => readRecord(view, COLLECTIONS.coupon, couponId, 'whole'),
});
