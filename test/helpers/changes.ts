/** Changes as many tests apply them: right in all that a test is not about. */
import type { EntityName } from '#shared/events/entities.ts';
import { ORDER } from './events.ts';
import type { TestChange } from './query-service.ts';

const { created_at } = ORDER;

/** Makes a change of a record of the store `s1`; `data` adds to the least that such a record has. */
type Make = (id: string, data?: object, storeId?: string) => Made;
type Made = Omit<TestChange, 'data' | 'time'> & { data: object };
const making =
  (entity: EntityName, least: object): Make =>
  (id, data = {}, storeId = 's1') => ({ entity, storeId, id, data: { ...least, ...data } });

export const anOrder = making('order', ORDER);
export const aCustomer = making('customer', { name: 'Ana', created_at });
export const aCategory = making('category', { name: 'Pizzas', position: 1, active: true });
export const aProduct = making('product', { name: 'Pizza', price: '1.00', position: 1, active: true });
export const aGroup = making('option_group', { name: 'Borda', min: 0, max: 1, options: [] });
export const aCoupon = making('coupon', {
  code: 'FRETE',
  discount_type: 'fixed',
  discount_value: '1.00',
  active: true,
  created_at,
});

/** The store's own record. */
export function aStore(storeId = 's1', data: object = {}): Made {
  const least = { name: 'Loja', timezone_offset: '-03:00', created_at };
  return { entity: 'store', storeId, id: storeId, data: { ...least, ...data } };
}

/** The deletion of a record. */
export function gone({ entity, storeId, id }: TestChange): TestChange {
  return { entity, storeId, id };
}
