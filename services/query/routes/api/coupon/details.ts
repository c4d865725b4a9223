/** `GET /api/coupon/details/`: one coupon, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['store'],
  parameters: { coupon_id: required(id) },
  shows: ['coupon'],
  read: (view, { coupon_id: couponId }) => readRecord(view, COLLECTIONS.coupon, couponId, 'whole'),
});
