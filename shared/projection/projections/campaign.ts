/** Campaigns: the list record and the details answer. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { instant, local, type Projection, updatedAt } from './projection.ts';

export const campaignProjection: Projection<'campaign'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      name: state.name,
      channel: state.channel,
      status: state.status,
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      status: state.status,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        message: state.message ?? null,
        audience: state.audience ?? null,
        coupon_id: state.coupon_id ?? null,
        sent_count: state.sent_count ?? null,
        delivered_count: state.delivered_count ?? null,
        converted_count: state.converted_count ?? null,
      }),
    };
  },
};
