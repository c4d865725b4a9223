/** The catalogue: categories, products and option groups. Products and their groups are joined when they are read. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { local, members, type Projection, shown, updatedAt } from './fields.ts';
import type { EntityStates } from '../../events/entities.ts';
import { foldName } from '../../read-models/search-texts.ts';

export const categoryProjection: Projection<'category'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    return {
      name: state.name,
      position: state.position,
      active: state.active,
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['name', 'description', 'position', 'active', 'image_url']),
      }),
      dates: members({
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};

export const productProjection: Projection<'product'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    return {
      name: state.name,
      position: state.position,
      active: state.active,
      category_id: state.category_id ?? '',
      option_group_ids: [...new Set(state.option_group_ids ?? [])],
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['category_id', 'name', 'description', 'price', 'promotional_price']),
        ...shown(state, ['active', 'position', 'image_url', 'external_code']),
        updated_at: toLocalDateTime(updated, offset),
      }),
      before_groups: members(shown(state, ['ean', 'serves'])),
      after_groups: members({ created_at: local(state.created_at, offset) }),
    };
  },
};

export const optionGroupProjection: Projection<'option_group'> = {
  project({ id, state }) {
    const options = state.options.map(optionRecord).sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1));
    const group = (shown: typeof options) =>
      JSON.stringify({
        id,
        name: state.name,
        min: state.min,
        max: state.max,
        price_method: state.price_method ?? null,
        position: state.position ?? 0,
        external_code: state.external_code ?? null,
        options: shown,
      });
    return {
      name_key: foldName(state.name),
      summary: group(options),
      active_summary: group(options.filter(({ active }) => active)),
    };
  },
};

function optionRecord(option: EntityStates['option_group']['options'][number]) {
  return {
    id: option.id,
    name: option.name,
    description: option.description ?? null,
    price: option.price,
    max_quantity: option.max_quantity ?? null,
    active: option.active ?? true,
    position: option.position ?? 0,
    external_code: option.external_code ?? null,
  };
}
