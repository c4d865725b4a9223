/** The menu: what the store sells now, composed (rule R9.14). */
import { Type } from 'typebox';
import { categoryFields } from './category.ts';
import examples from './examples.json' with { type: 'json' };
import { Id, LocalDateTime, nullable, record } from './fields.ts';
import { OptionGroup } from './option-group.ts';
import { productFields } from './product.ts';

const category = { ...examples.category, products: [examples.product] };

const MenuProduct = record(
  'MenuProduct',
  'An active product of the menu.',
  {
    ...productFields,
    option_groups: Type.Array(OptionGroup, {
      description: 'In the order in which customers choose, with their active options alone.',
    }),
  },
  examples.product,
);

const MenuCategory = record(
  'MenuCategory',
  'An active category that has an active product.',
  { ...categoryFields, products: Type.Array(MenuProduct, { description: 'The active ones, in order.' }) },
  category,
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
    categories: Type.Array(MenuCategory, { description: 'In order of position.' }),
  },
  { store_id: 's1', updated_at: '2026-10-30T12:00:00', categories: [category] },
);
