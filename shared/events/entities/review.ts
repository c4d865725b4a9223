/** The state of a review, as `store-data.review.changed` carries it (rules R9.6, R12.3). */
import { Type } from 'typebox';
import { absent, Id, Instant, Name, Prose } from '../fields.ts';

export const ReviewState = Type.Object({
  order_id: absent(Id),
  customer_id: absent(Id),
  customer_name: absent(Name),
  rating: Type.Integer({ minimum: 1, maximum: 5 }),
  comment: absent(Prose),
  reply: absent(Prose),
  replied_at: absent(Instant),
  created_at: Instant,
});
export type ReviewState = Type.Static<typeof ReviewState>;
