/** Products: the list record, and what the details show before and after the option groups, which are joined when they are read. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { local, members, type Projection, updatedAt } from './projection.ts';

export const productProjection: Projection<'product'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const categoryId = state.category_id ?? null;
    return {
      name: state.name,
      position: state.position,
      active: state.active,
      category_id: categoryId ?? '',
      option_group_ids: [...new Set(state.option_group_ids ?? [])],
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        category_id: categoryId,
        name: state.name,
        description: state.description ?? null,
        price: state.price,
        promotional_price: state.promotional_price ?? null,
        active: state.active,
        position: state.position,
        image_url: state.image_url ?? null,
        external_code: state.external_code ?? null,
        updated_at: toLocalDateTime(updated, offset),
      }),
      before_groups: members({ ean: state.ean ?? null, serves: state.serves ?? null }),
      after_groups: members({ created_at: local(state.created_at, offset) }),
    };
  },
};
