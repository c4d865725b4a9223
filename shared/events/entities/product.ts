/** The state of a product, as `store-data.product.changed` carries it (rules R9.12, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS } from '../bounds.ts';
import { absent, Flag, Id, ImageUrl, Instant, listOf, Money, Name, Prose, Text, Whole } from '../fields.ts';

export const ProductState = Type.Object({
  category_id: absent(Id),
  name: Name,
  description: absent(Prose),
  price: Money,
  promotional_price: absent(Money),
  active: Flag,
  position: Whole,
  image_url: absent(ImageUrl),
  external_code: absent(Text),
  ean: absent(Text),
  serves: absent(Whole),
  option_group_ids: absent(listOf(Id, LIST_BOUNDS.option_group_ids)),
  created_at: absent(Instant),
  updated_at: absent(Instant),
});
export type ProductState = Type.Static<typeof ProductState>;
