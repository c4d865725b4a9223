/** Customers, as `GET /api/customer/list` answers them, with the folded keys by which they are sorted and searched. */
import { alphanumericOf, digitsOf, foldName } from '../../read-models/folding.ts';
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { nameKey, timeKey } from '../../read-models/rank-tree/keys.ts';
import { address, instant, local, type Projection, updatedAt } from './projection.ts';

export const customerProjection: Projection<'customer'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const document = state.document ?? '';
    return {
      rank_key: nameKey(foldName(state.name), id),
      created_key: timeKey(instant(state.created_at), id),
      document_digits: digitsOf(document),
      document_key: alphanumericOf(document),
      phone_digits: digitsOf(state.phone ?? ''),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        name: state.name,
        document: state.document ?? null,
        phone: state.phone ?? null,
        email: state.email ?? null,
        birth_date: state.birth_date ?? null,
        accepts_marketing: state.accepts_marketing ?? false,
        addresses: (state.addresses ?? []).map(address),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};
