/** Categories: the list record and the details answer (rule R9.11). */
import examples from './examples.json' with { type: 'json' };
import { as, Flag, Id, LocalDateTime, nullable, record, Text, Whole } from './fields.ts';

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
  examples.category,
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
  examples.category,
);
