/** Reviews: the list record and the details answer (rule R9.6). */
import { Type } from 'typebox';
import { as, Id, LocalDateTime, nullable, record, Text } from './fields.ts';

const example = {
  id: 'r310',
  order_id: 'o1001',
  customer_id: 'c204',
  customer_name: 'José Antônio da Silva',
  rating: 5,
  comment: 'Pizza chegou quente e antes do prazo.',
  created_at: '2026-11-20T20:02:33',
};

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

export const ReviewSummary = record('ReviewSummary', 'A review, as lists show it.', summary, example);

export const Review = record(
  'Review',
  'A review, whole.',
  {
    ...summary,
    reply: nullable(Text, 'What the store answered.'),
    replied_at: nullable(LocalDateTime, 'When the store answered.'),
  },
  { ...example, reply: 'Obrigado, José! Volte sempre.', replied_at: '2026-11-21T09:30:00' },
);
