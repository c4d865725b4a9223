/** Reviews: the list record and the details answer (rule R9.6). */
import { Type } from 'typebox';
import examples from './examples.json' with { type: 'json' };
import { as, Id, LocalDateTime, nullable, record, Text } from './fields.ts';

/** From 1 to 5 stars, as filters ask for them too. */
export const Rating = Type.Integer({
  title: 'Rating',
  description: 'Stars, 5 the best.',
  minimum: 1,
  maximum: 5,
});

const summary = {
  id: Id,
  order_id: nullable(Id, 'The order that it is about.'),
  customer_id: nullable(Id),
  customer_name: nullable(Text, '`null` also where the customer was deleted.'),
  rating: Rating,
  comment: nullable(Text),
  created_at: as(LocalDateTime, 'When the customer wrote it.'),
};

export const ReviewSummary = record('ReviewSummary', 'A review, as lists show it.', summary, examples.review);

export const Review = record(
  'Review',
  'A review, whole.',
  {
    ...summary,
    reply: nullable(Text, 'What the store answered.'),
    replied_at: nullable(LocalDateTime, 'When the store answered.'),
  },
  examples.review,
);
