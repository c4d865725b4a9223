/** The store's own record, as `GET /api/store/info/` answers it. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { address, instant, local, type Projection, updatedAt } from './projection.ts';

export const storeProjection: Projection<'store'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const status = state.status ?? 'active';
    return {
      status,
      created_at: new Date(instant(state.created_at)),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        name: state.name,
        legal_name: state.legal_name ?? null,
        document: state.document ?? null,
        phone: state.phone ?? null,
        email: state.email ?? null,
        status,
        timezone_offset: state.timezone_offset,
        currency: 'BRL',
        order_types: state.order_types ?? [],
        minimum_order_value: state.minimum_order_value ?? null,
        address: address(state.address),
        opening_hours: (state.opening_hours ?? []).map(({ weekday, opens, closes }) => ({
          weekday: weekday ?? null,
          opens: opens ?? null,
          closes: closes ?? null,
        })),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};
