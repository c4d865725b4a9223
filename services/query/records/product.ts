/** Products: the list record and the details answer (rule R9.12). */
import { Type } from 'typebox';
import examples from './examples.json' with { type: 'json' };
import { as, Flag, Id, LocalDateTime, Money, nullable, record, Text, Whole } from './fields.ts';
import { OptionGroup } from './option-group.ts';

export const productFields = {
  id: Id,
  category_id: nullable(Id, 'It may name a category that the store does not have (any more).'),
  name: Text,
  description: nullable(Text),
  price: as(Money, 'The price of one, without options.'),
  promotional_price: nullable(Money, 'Holds in place of `price` where there is one.'),
  active: as(Flag, 'Whether it is on sale.'),
  position: as(Whole, 'Its place in the category, smallest first.'),
  image_url: nullable(Text),
  external_code: nullable(Text, 'Its code in the store’s own system.'),
  updated_at: LocalDateTime,
};

export const ProductSummary = record(
  'ProductSummary',
  'A product, as lists show it.',
  productFields,
  examples.product,
);

export const Product = record(
  'Product',
  'A product, whole.',
  {
    ...productFields,
    ean: nullable(Text, 'The barcode.'),
    serves: nullable(Whole, 'How many people it serves.'),
    option_groups: Type.Array(OptionGroup, { description: 'In the order in which customers choose.' }),
    created_at: nullable(LocalDateTime),
  },
  examples.product,
);
