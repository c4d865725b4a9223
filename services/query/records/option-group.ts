/** Option groups, the add-ons of products: the same record in lists, products and the menu (rule R9.13). */
import { Type } from 'typebox';
import { PRICE_METHODS } from '#shared/events/entities/option-group.ts';
import examples from './examples.json' with { type: 'json' };
import { as, Flag, Id, Money, nullable, part, record, Text, Whole, words } from './fields.ts';

const Option = part('Option', 'One choice of an option group.', {
  id: as(Id, 'Unique within its group.'),
  name: Text,
  description: nullable(Text),
  price: as(Money, 'What it adds to the product’s price.'),
  max_quantity: nullable(Whole, 'How often it can be chosen; `null`: as often as the group allows.'),
  active: as(Flag, 'Whether it is on sale.'),
  position: as(Whole, 'Its place in the group, smallest first.'),
  external_code: nullable(Text, 'Its code in the store’s own system.'),
});

export const OptionGroup = record(
  'OptionGroup',
  'Choices that go with a product, such as flavours or extras.',
  {
    id: Id,
    name: Text,
    min: as(Whole, 'How many must be chosen.'),
    max: as(Whole, 'How many may be chosen.'),
    price_method: nullable(
      words(
        'PriceMethod',
        PRICE_METHODS,
        'How the prices of several choices add up: their sum, the highest, or their average (half-and-half pizzas).',
      ),
    ),
    position: Whole,
    external_code: nullable(Text, 'Its code in the store’s own system.'),
    options: Type.Array(Option, { description: 'In order of position.' }),
  },
  examples.optionGroup,
);
