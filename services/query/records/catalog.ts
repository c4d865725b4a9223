/** The catalogue: categories (rule R9.11), products (R9.12), their option groups (R9.13), and the menu that is composed of them (R9.14). */
import { PRICE_METHODS } from '#shared/events/entities.ts';
import examples from './examples.json' with { type: 'json' };
import {
  arrayOf,
  COMPONENT,
  described,
  enumOf,
  type Fields,
  Flag,
  Id,
  LocalDateTime,
  Money,
  nullable,
  part,
  record,
  summaryAndWhole,
  Text,
  Whole,
} from './fields.ts';

const categoryFields = {
  id: Id,
  name: Text,
  description: nullable(Text),
  position: described(Whole, 'Its place in the menu, smallest first.'),
  active: described(Flag, 'Whether it is on sale.'),
  image_url: nullable(Text),
};

const datesOfCategory = { created_at: nullable(LocalDateTime), updated_at: LocalDateTime };

export const [CategorySummary, Category] = summaryAndWhole(
  'Category',
  'A category',
  categoryFields,
  {
    ...datesOfCategory,
    product_count: described(Whole, 'How many products name it, those that are not active included.'),
  },
  examples.category,
);

/** What change feeds show whole: the category's own fields, without what is counted. */
export const CategoryRecord = record(
  'CategoryRecord',
  'A category with all that belongs to itself.',
  { ...categoryFields, ...datesOfCategory },
  examples.category,
);

const Option = part('Option', 'One choice of an option group.', {
  id: described(Id, 'Unique within its group.'),
  name: Text,
  description: nullable(Text),
  price: described(Money, 'What it adds to the product’s price.'),
  max_quantity: nullable(Whole, 'How often it can be chosen; `null`: as often as the group allows.'),
  active: described(Flag, 'Whether it is on sale.'),
  position: described(Whole, 'Its place in the group, smallest first.'),
  external_code: nullable(Text, 'Its code in the store’s own system.'),
});

export const OptionGroup = record(
  'OptionGroup',
  'Choices that go with a product, such as flavours or extras.',
  {
    id: Id,
    name: Text,
    min: described(Whole, 'How many must be chosen.'),
    max: described(Whole, 'How many may be chosen.'),
    price_method: nullable(
      enumOf(
        'PriceMethod',
        PRICE_METHODS,
        'How the prices of several choices add up: their sum, the highest, or their average (half-and-half pizzas).',
      ),
    ),
    position: Whole,
    external_code: nullable(Text, 'Its code in the store’s own system.'),
    options: arrayOf(Option, 'In order of position.'),
  },
  examples.optionGroup,
);

const productFields = {
  id: Id,
  category_id: nullable(Id, 'It may name a category that the store does not have (any more).'),
  name: Text,
  description: nullable(Text),
  price: described(Money, 'The price of one, without options.'),
  promotional_price: nullable(Money, 'Holds in place of `price` where there is one.'),
  active: described(Flag, 'Whether it is on sale.'),
  position: described(Whole, 'Its place in the category, smallest first.'),
  image_url: nullable(Text),
  external_code: nullable(Text, 'Its code in the store’s own system.'),
  updated_at: LocalDateTime,
};

/** @param groups the field that tells its option groups. */
const notInLists = (groups: Fields) => ({
  ean: nullable(Text, 'The barcode.'),
  serves: nullable(Whole, 'How many people it serves.'),
  ...groups,
  created_at: nullable(LocalDateTime),
});

export const [ProductSummary, Product] = summaryAndWhole(
  'Product',
  'A product',
  productFields,
  notInLists({ option_groups: arrayOf(OptionGroup, 'In the order in which customers choose.') }),
  examples.product,
);

/** What change feeds show whole: the product's own fields, with the ids of its groups in place of the groups. */
export const ProductRecord = record(
  'ProductRecord',
  'A product with all that belongs to itself.',
  {
    ...productFields,
    ...notInLists({
      option_group_ids: arrayOf(
        Id,
        'The option groups that it names, each once, in the order in which customers choose; also those that the store ' +
          'does not have (any more).',
      ),
    }),
  },
  { ...examples.product, option_group_ids: examples.product.option_groups.map(({ id }) => id) },
);

const MenuProduct = record(
  'MenuProduct',
  'An active product of the menu.',
  {
    ...productFields,
    option_groups: arrayOf(OptionGroup, 'In the order in which customers choose, with their active options alone.'),
  },
  examples.product,
);

const exampleOfMenu = { ...examples.category, products: [MenuProduct[COMPONENT].example] };

const MenuCategory = record(
  'MenuCategory',
  'An active category that has an active product.',
  { ...categoryFields, products: arrayOf(MenuProduct, 'The active ones, in order.') },
  exampleOfMenu,
);

export const Menu = record(
  'Menu',
  'What the store sells now: active categories, their active products and the options that can be chosen.',
  {
    store_id: Id,
    updated_at: nullable(
      LocalDateTime,
      'The newest `updated_at` of the categories and products shown; `null` where nothing is.',
    ),
    categories: arrayOf(MenuCategory, 'In order of position.'),
  },
  { store_id: 's1', updated_at: '2026-10-30T12:00:00', categories: [MenuCategory[COMPONENT].example] },
);
