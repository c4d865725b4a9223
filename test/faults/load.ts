/**
 * An endless stream of events during a fault: every kind of change, of stores in every partition.
 */
import type { StreamEvent } from '#test/streams.ts';

/** Enough for each of two to six partitions. */
const STORES = 20;
const CUSTOMERS = 120;
const ORDERS = 600;
const OFFSETS = ['-03:00', '-04:00', '+05:30'];
/** Some events are repeated, as by sources that retry. */
const REPEAT_EVERY = 13;

/** The `index`-th event of so many stores; deterministic. */
export function eventAt(index: number, stores = STORES): StreamEvent {
  if (index % REPEAT_EVERY === 0 && index > 200) return changeAt(index - 1 - (index % 150), stores);
  return changeAt(index, stores);
}

function changeAt(index: number, stores: number): StreamEvent {
  const round = Math.floor(index / stores);
  const base = { storeId: `s${index % stores}`, sequence: index, time: instant(index) };
  const { entity, id, data } = stateAt(index, round);
  const subject = entity === 'store' ? base.storeId : `${entity}-${id}`;
  const isDeleted = entity !== 'store' && round % 29 === 28;
  return { ...base, entity, subject, ...(isDeleted ? { action: 'deleted' as const } : { data }) };
}

function stateAt(index: number, round: number): { entity: string; id: number; data: object } {
  const created_at = instant(round % ORDERS).toISOString();
  const text = index.toString(36);
  switch (round % 16) {
    case 0: {
      const timezone_offset = OFFSETS[Math.floor(round / 800) % OFFSETS.length];
      return {
        entity: 'store',
        id: 0,
        data: { name: `Loja ${text}`, timezone_offset, created_at },
      };
    }
    case 1:
    case 2: {
      const id = (round * 7) % CUSTOMERS;
      return {
        entity: 'customer',
        id,
        data: { name: `Cliente ${id} ${text}`, phone: '11 9', created_at },
      };
    }
    case 3: {
      const data = { name: `Seção ${text}`, position: round % 5, active: round % 3 > 0 };
      return { entity: 'category', id: round % 6, data };
    }
    case 4:
    case 5: {
      const data = {
        name: `Prato ${text}`,
        price: `${index % 90}.50`,
        category_id: `category-${round % 6}`,
        option_group_ids: [`option_group-${round % 4}`],
        position: round % 9,
        active: true,
      };
      return { entity: 'product', id: round % 30, data };
    }
    case 6: {
      const options = [{ id: 'a', name: `Borda ${text}`, price: '5.00' }];
      return {
        entity: 'option_group',
        id: round % 4,
        data: { name: 'Extras', min: 0, max: 1, options },
      };
    }
    case 7: {
      const data = {
        rating: 1 + (index % 5),
        comment: text,
        customer_id: 'customer-1',
        created_at,
      };
      return { entity: 'review', id: round % 50, data };
    }
    default: {
      const customer = { id: `customer-${(round * 7) % CUSTOMERS}`, name: 'Maria', phone: '11 9' };
      const data = {
        status: ['pending', 'confirmed', 'ready', 'delivered'][index % 4],
        order_type: round % 3 === 0 ? 'takeout' : 'delivery',
        total: `${index}.00`,
        ...(round % 5 === 0 ? {} : { customer }),
        created_at,
      };
      return { entity: 'order', id: (round * 11) % ORDERS, data };
    }
  }
}

function instant(index: number): Date {
  return new Date(Date.UTC(2026, 2, 1) + index * 61_000);
}
