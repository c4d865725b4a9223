/** Valid changes; a test sets only the fields that it is about. */
import type { EntityName } from '#shared/events/entities.ts';
import { ORDER, type TestChange } from './events.ts';

const { created_at } = ORDER;

/** The required fields of each kind of record. */
export const MINIMAL = {
  store: { name: 'Loja', timezone_offset: '-03:00', created_at },
  order: ORDER,
  customer: { name: 'Ana', created_at },
  review: { rating: 5, created_at },
  campaign: { name: 'Volta', channel: 'sms', status: 'running', created_at },
  coupon: {
    code: 'FRETE',
    discount_type: 'fixed',
    discount_value: '1.00',
    active: true,
    created_at,
  },
  category: { name: 'Pizzas', position: 1, active: true },
  product: { name: 'Pizza', price: '1.00', position: 1, active: true },
  option_group: { name: 'Borda', min: 0, max: 1, options: [] },
} satisfies Record<EntityName, object>;

export const anOrder = making('order');
export const aCustomer = making('customer');
export const aCategory = making('category');
export const aProduct = making('product');
export const aGroup = making('option_group');
export const aCoupon = making('coupon');

type Made = Omit<TestChange, 'data' | 'time'> & { data: object };

/** Makes a change of a record of the store `s1`; `data` adds to the required fields. */
function making(entity: EntityName): (id: string, data?: object, storeId?: string) => Made {
  return (id, data = {}, storeId = 's1') => ({
    entity,
    storeId,
    id,
    data: { ...MINIMAL[entity], ...data },
  });
}

/** The store's own record. */
export function aStore(storeId = 's1', data: object = {}): Made {
  return making('store')(storeId, data, storeId);
}

/** The deletion of a record. */
export function gone({ entity, storeId, id }: TestChange): TestChange {
  return { entity, storeId, id };
}
