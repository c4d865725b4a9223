/** Categories: the list record and the details answer (rule R9.11). */
import { as, Flag, Id, LocalDateTime, nullable, record, Text, Whole } from './fields.ts';

export const exampleCategory = {
  id: 'k1',
  name: 'Pizzas',
  description: 'Massa de longa fermentação, forno a lenha',
  position: 1,
  active: true,
  image_url: 'https://cdn.example.com/s1/pizzas.jpg',
};

export const categoryFields = {
  id: Id,
  name: Text,
  description: nullable(Text),
  position: as(Whole, 'Its place in the menu, smallest first.'),
  active: as(Flag, 'Whether it is on sale.'),
  image_url: nullable(Text),
};

export const CategorySummary = record(
  'CategorySummary',
  'A category, as lists show it.',
  categoryFields,
  exampleCategory,
);

export const Category = record(
  'Category',
  'A category, whole.',
  {
    ...categoryFields,
    created_at: nullable(LocalDateTime),
    updated_at: LocalDateTime,
    product_count: as(Whole, 'How many products name it, those that are not active included.'),
  },
  {
    ...exampleCategory,
    created_at: '2024-02-29T10:05:00',
    updated_at: '2026-09-14T16:48:22',
    product_count: 18,
  },
);
