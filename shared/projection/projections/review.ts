/** Reviews: the list record and the details answer. */
import { reviewFacet } from '../../read-models/rank-tree/facets.ts';
import { timeKey } from '../../read-models/rank-tree/keys.ts';
import { instant, local, type Projection } from './projection.ts';

export const reviewProjection: Projection<'review'> = {
  project({ id, state }, { offset, customerErased }) {
    const summary = {
      id,
      order_id: state.order_id ?? null,
      customer_id: state.customer_id ?? null,
      customer_name: customerErased ? null : (state.customer_name ?? null),
      rating: state.rating,
      comment: state.comment ?? null,
      created_at: local(state.created_at, offset),
    };
    return {
      rank_key: timeKey(instant(state.created_at), id),
      facet: reviewFacet(state.rating),
      customer_id: summary.customer_id,
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        reply: state.reply ?? null,
        replied_at: local(state.replied_at, offset),
      }),
    };
  },

  customerOf: (state) => state.customer_id ?? null,
};
