/** Tenants that have records of every kind, each marked as theirs. */
import type { EntityName } from '#shared/events/entities.ts';
import type { TestChange } from '#test/query-service.ts';

export interface Tenant {
  name: string;
  storeId: string;
  environment: string;
  /** In the content of all its records, and nowhere else. */
  secret: string;
  /** Digits that only its customers have. */
  phone: string;
}

const AT = { created_at: '2026-01-01T12:00:00Z', updated_at: '2026-01-02T12:00:00Z' };

/** The id of a tenant's record. */
export function idOf(entity: string, { name, storeId }: Tenant): string {
  return entity === 'store' ? storeId : `${entity}-${name}`;
}

/** One record of every kind. Its references go to the records of `other`: its own, or those of a neighbour. */
export function recordsOf(tenant: Tenant, other: Tenant = tenant): TestChange[] {
  const { secret: name, phone, storeId } = tenant;
  const ref = (entity: EntityName) => idOf(entity, other);
  const item = { product_id: ref('product'), name, quantity: 1, unit_price: '1.00', total: '1.00' };
  const states: Record<EntityName, object> = {
    store: { name, timezone_offset: '-03:00', ...AT },
    coupon: { code: name, discount_type: 'fixed', discount_value: '1.00', active: true, ...AT },
    customer: { name, phone, document: phone, ...AT },
    review: { rating: 5, comment: name, customer_id: ref('customer'), order_id: ref('order'), ...AT },
    campaign: { name, channel: 'sms', status: 'running', message: name, coupon_id: ref('coupon'), ...AT },
    order: {
      status: 'pending',
      order_type: 'delivery',
      total: '1.00',
      notes: name,
      display_id: name,
      customer: { id: ref('customer'), name },
      items: [item],
      ...AT,
    },
    category: { name, position: 1, active: true, ...AT },
    product: {
      name,
      price: '1.00',
      position: 1,
      active: true,
      category_id: ref('category'),
      option_group_ids: [ref('option_group')],
      ...AT,
    },
    option_group: { name, min: 0, max: 1, options: [{ id: 'x', name, price: '1.00' }] },
  };
  return Object.entries(states).map(([entity, data]) => ({
    entity: entity as EntityName,
    storeId,
    id: idOf(entity, tenant),
    data,
  }));
}
