/** Coupons: the list record and the details answer. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { instant, local, type Projection, updatedAt } from './projection.ts';

export const couponProjection: Projection<'coupon'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      code: state.code,
      description: state.description ?? null,
      discount_type: state.discount_type,
      discount_value: state.discount_value,
      minimum_order_value: state.minimum_order_value ?? null,
      active: state.active,
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      active: state.active,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        maximum_discount: state.maximum_discount ?? null,
        usage_limit: state.usage_limit ?? null,
        usage_count: state.usage_count ?? null,
        per_customer_limit: state.per_customer_limit ?? null,
        order_types: state.order_types ?? [],
      }),
    };
  },
};
