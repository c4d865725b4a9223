/**
 * The catalogue: categories (rule R9.11), products (R9.12), their option groups (R9.13), and the
 * menu that is composed of them (R9.14).
 */
import {
  arrayOf,
  COMPONENT,
  described,
  Id,
  LocalDateTime,
  nullable,
  record,
  Whole,
} from './answer.ts';
import { exampleOf, recordComponent } from './components.ts';
import {
  answersOf,
  flag,
  id,
  imageUrl,
  instant,
  listOf,
  money,
  name,
  oneOf,
  partOf,
  prose,
  text,
  updatedAt,
  whole,
} from './field.ts';
import { describeRecord } from './record.ts';

export const category = describeRecord(
  {
    name: name.required(),
    description: prose.optional(),
    position: whole.required('Its place in the menu, smallest first.'),
    active: flag.required('Whether it is on sale.'),
    image_url: imageUrl.optional(),
  },
  { created_at: instant.optional(), updated_at: updatedAt() },
);

const exampleOfCategory = { ...exampleOf('category', category), product_count: 18 };
const categoryFields = { id: Id, ...answersOf(category.fields) };

export const CategorySummary = record(
  'CategorySummary',
  'A category, as lists show it.',
  categoryFields,
  exampleOfCategory,
);
export const Category = record(
  'Category',
  'A category, whole.',
  {
    ...categoryFields,
    ...answersOf(category.more),
    product_count: described(
      Whole,
      'How many products name it, those that are not active included.',
    ),
  },
  exampleOfCategory,
);

/** What change feeds show whole: the category's own fields, without what is counted. */
export const CategoryRecord = recordComponent(
  'CategoryRecord',
  'A category with all that belongs to itself.',
  category,
  'category',
);

const option = partOf('Option', 'One choice of an option group.', {
  id: id.required('Unique within its group.'),
  name: name.required(),
  description: prose.optional(),
  price: money.required('What it adds to the product’s price.'),
  max_quantity: whole.optional('How often it can be chosen; `null`: as often as the group allows.'),
  active: flag.or(true, 'Whether it is on sale.'),
  position: whole.or(0, 'Its place in the group, smallest first.'),
  external_code: text.optional('Its code in the store’s own system.'),
});

export const PRICE_METHODS = ['sum', 'max', 'average'] as const;

const priceMethod = oneOf(
  'PriceMethod',
  PRICE_METHODS,
  'How the prices of several choices add up: their sum, the highest, or their average (half-and-half pizzas).',
);

export const optionGroup = describeRecord(
  {
    name: name.required(),
    min: whole.required('How many must be chosen.'),
    max: whole.required('How many may be chosen.'),
    price_method: priceMethod.optional(),
    position: whole.or(0),
    external_code: text.optional('Its code in the store’s own system.'),
    options: listOf(option, 200).required('In order of position.'),
  },
  {},
);

export const OptionGroup = recordComponent(
  'OptionGroup',
  'Choices that go with a product, such as flavours or extras.',
  optionGroup,
  'option_group',
);

export const product = describeRecord(
  {
    category_id: id.optional('It may name a category that the store does not have (any more).'),
    name: name.required(),
    description: prose.optional(),
    price: money.required('The price of one, without options.'),
    promotional_price: money.optional('Replaces `price`, if there is one.'),
    active: flag.required('Whether it is on sale.'),
    position: whole.required('Its place in the category, smallest first.'),
    image_url: imageUrl.optional(),
    external_code: text.optional('Its code in the store’s own system.'),
    updated_at: updatedAt(),
  },
  {
    ean: text.optional('The barcode.'),
    serves: whole.optional('How many people it serves.'),
    option_group_ids: listOf(id, 100).optional(
      'The option groups that it names, each once, in the order in which customers choose; also those that the store ' +
        'does not have (any more).',
    ),
    created_at: instant.optional(),
  },
);

const productFields = { id: Id, ...answersOf(product.fields) };
const { option_group_ids: _ids, created_at: createdAt, ...beforeGroups } = answersOf(product.more);
const exampleOfProduct = {
  ...exampleOf('product', product),
  option_groups: [exampleOf('option_group', optionGroup)],
};
const groupsOf = (words: string) => ({ option_groups: arrayOf(OptionGroup, words) });

export const ProductSummary = record(
  'ProductSummary',
  'A product, as lists show it.',
  productFields,
  exampleOfProduct,
);
export const Product = record(
  'Product',
  'A product, whole.',
  {
    ...productFields,
    ...beforeGroups,
    ...groupsOf('In the order in which customers choose.'),
    ...(createdAt !== undefined && { created_at: createdAt }),
  },
  exampleOfProduct,
);

/**
 * What change feeds show whole: the product's own fields, with the ids of its groups in place of
 * the groups.
 */
export const ProductRecord = recordComponent(
  'ProductRecord',
  'A product with all that belongs to itself.',
  product,
  'product',
);

const MenuProduct = record(
  'MenuProduct',
  'An active product of the menu.',
  {
    ...productFields,
    ...groupsOf('In the order in which customers choose, with their active options alone.'),
  },
  exampleOfProduct,
);

const MenuCategory = record(
  'MenuCategory',
  'An active category that has an active product.',
  { ...categoryFields, products: arrayOf(MenuProduct, 'The active ones, in order.') },
  { ...exampleOfCategory, products: [MenuProduct[COMPONENT].example] },
);

export const Menu = record(
  'Menu',
  'What the store sells now: active categories, their active products and the options that can be chosen.',
  {
    store_id: Id,
    updated_at: nullable(
      LocalDateTime,
      'The newest `updated_at` of the categories and products shown; `null` if none is.',
    ),
    categories: arrayOf(MenuCategory, 'In order of position.'),
  },
  {
    store_id: 's1',
    updated_at: '2026-10-30T12:00:00',
    categories: [MenuCategory[COMPONENT].example],
  },
);
