/** Tenants with records of every kind, marked with a secret text. */
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { MINIMAL } from '#test/changes.ts';
import type { TestChange } from '#test/events.ts';

export interface Tenant {
  name: string;
  storeId: string;
  environment: string;
  /** A text in all records of this tenant, and nowhere else. */
  secret: string;
  /** Digits in its customers only. */
  phone: string;
}

/** The id of a tenant's record of a kind. */
export function idOf(entity: string, { name, storeId }: Tenant): string {
  return entity === 'store' ? storeId : `${entity}-${name}`;
}

/** One record of every kind. References point to records of `other`. */
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
    order: {
      notes: name,
      display_id: name,
      customer: { id: ref('customer'), name },
      items: [item],
    },
    category: { name },
    product: { name, category_id: ref('category'), option_group_ids: [ref('option_group')] },
    option_group: { name, options: [{ id: 'x', name, price: '1.00' }] },
  };
  return ENTITY_NAMES.map((entity) => ({
    entity,
    storeId,
    id: idOf(entity, tenant),
    data: { ...MINIMAL[entity], ...marks[entity] },
  }));
}
