/** The state of a product, as `store-data.product.changed` carries it (CONTRACT sections 2 and 3). */
import { Type } from 'typebox';
import { absent, Flag, Id, Instant, Money, Text, Whole } from '../fields.ts';

export const ProductState = Type.Object({
  category_id: absent(Id),
  name: Text,
  description: absent(Text),
  price: Money,
  promotional_price: absent(Money),
  active: Flag,
  position: Whole,
  image_url: absent(Text),
  external_code: absent(Text),
  ean: absent(Text),
  serves: absent(Whole),
  option_group_ids: absent(Type.Array(Id)),
  created_at: absent(Instant),
  updated_at: absent(Instant),
});
export type ProductState = Type.Static<typeof ProductState>;
