/** Categories: the list record, and what the details show besides. How many products they have is counted apart (`catalog/`). */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { local, members, type Projection, updatedAt } from './projection.ts';

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
        name: state.name,
        description: state.description ?? null,
        position: state.position,
        active: state.active,
        image_url: state.image_url ?? null,
      }),
      dates: members({
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};
