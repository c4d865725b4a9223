/** The state of an option group (add-ons of products), as `store-data.option_group.changed` carries it. */
import { Type } from 'typebox';
import { absent, Flag, Id, Money, Text, Whole } from '../fields.ts';

export const PRICE_METHODS = ['sum', 'max', 'average'] as const;

const Option = Type.Object({
  id: Id,
  name: Text,
  description: absent(Text),
  price: Money,
  max_quantity: absent(Whole),
  active: absent(Flag),
  position: absent(Whole),
  external_code: absent(Text),
});

export const OptionGroupState = Type.Object({
  name: Text,
  min: Whole,
  max: Whole,
  price_method: absent(Type.Enum([...PRICE_METHODS])),
  position: absent(Whole),
  external_code: absent(Text),
  options: Type.Array(Option),
});
export type OptionGroupState = Type.Static<typeof OptionGroupState>;
