/** The state of an option group (add-ons of products), as `store-data.option_group.changed` carries it (rules R9.13, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS, OPTION_GROUP_BYTES } from '../bounds.ts';
import { absent, Flag, Id, listOf, Money, Name, Prose, Text, Whole } from '../fields.ts';
import { knownBytes } from '../known-fields.ts';

export const PRICE_METHODS = ['sum', 'max', 'average'] as const;

const Option = Type.Object({
  id: Id,
  name: Name,
  description: absent(Prose),
  price: Money,
  max_quantity: absent(Whole),
  active: absent(Flag, true),
  position: absent(Whole, 0),
  external_code: absent(Text),
});

const Fields = Type.Object({
  name: Name,
  min: Whole,
  max: Whole,
  price_method: absent(Type.Enum([...PRICE_METHODS])),
  position: absent(Whole, 0),
  external_code: absent(Text),
  options: listOf(Option, LIST_BOUNDS.options),
});

/** Its bound is one of all its texts together: products and the menu repeat their groups. */
export const OptionGroupState = Type.Refine(
  Fields,
  (group) => knownBytes(Fields, group) <= OPTION_GROUP_BYTES,
  () => `must not have more than ${OPTION_GROUP_BYTES} bytes (64 KiB) of known fields in JSON`,
);
export type OptionGroupState = Type.Static<typeof OptionGroupState>;
