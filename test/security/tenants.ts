/** Tenants that have records of every kind, each marked as theirs. */
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { LEAST } from '#test/changes.ts';
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

/** The id of a tenant's record. */
export function idOf(entity: string, { name, storeId }: Tenant): string {
  return entity === 'store' ? storeId : `${entity}-${name}`;
}

/** One record of every kind. Its references go to the records of `other`: its own, or those of a neighbour. */
export function recordsOf(tenant: Tenant, other: Tenant = tenant): TestChange[] {
  const { secret: name, phone, storeId } = tenant;
  const ref = (entity: EntityName) => idOf(entity, other);
  const item = { product_id: ref('product'), name, quantity: 1, unit_price: '1.00', total: '1.00' };
  const marks: Record<EntityName, object> = {
    store: { name },
    coupon: { code: name },
    customer: { name, phone, document: phone },
    review: { comment: name, customer_id: ref('customer'), order_id: ref('order') },
    campaign: { name, message: name, coupon_id: ref('coupon') },
    order: { notes: name, display_id: name, customer: { id: ref('customer'), name }, items: [item] },
    category: { name },
    product: { name, category_id: ref('category'), option_group_ids: [ref('option_group')] },
    option_group: { name, options: [{ id: 'x', name, price: '1.00' }] },
  };
  return ENTITY_NAMES.map((entity) => ({
    entity,
    storeId,
    id: idOf(entity, tenant),
    data: { ...LEAST[entity], ...marks[entity] },
  }));
}
