/** A review (rule R9.6). */
import { Type } from 'typebox';
import { component } from './answer.ts';
import { summaryAndWhole } from './components.ts';
import { id, instant, kind, name, personal, prose } from './field.ts';
import { describeRecord } from './record.ts';

/** From 1 to 5 stars, as filters ask for them too. */
export const Rating = component('Rating', {
  type: 'integer',
  description: 'Stars, 5 the best.',
  minimum: 1,
  maximum: 5,
});
const rating = kind(Type.Integer({ minimum: 1, maximum: 5 }), Rating);

export const review = describeRecord(
  {
    order_id: id.optional('The order that it is about.'),
    customer_id: id.optional(),
    customer_name: personal(name.optional('`null` also if the customer was deleted.')),
    rating: rating.required(),
    comment: prose.optional(),
    created_at: instant.required('When the customer wrote it.'),
  },
  {
    reply: prose.optional('The store’s reply.'),
    replied_at: instant.optional('When the store replied.'),
  },
);

export const [ReviewSummary, Review] = summaryAndWhole('Review', 'A review', review, 'review');
