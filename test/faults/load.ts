/**
 * An endless stream of events during a fault: every kind of change, of stores in every partition.
 */
import type { EntityName } from '#shared/events/entities.ts';
import { MINIMAL } from '#test/changes.ts';
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
  const storeId = `s${index % stores}`;
  const [entity, id, own = {}] = stateAt(index, round);
  const place = {
    entity,
    storeId,
    subject: entity === 'store' ? storeId : `${entity}-${id}`,
    sequence: index,
    time: instant(index),
  };
  if (entity !== 'store' && round % 29 === 28) return { ...place, action: 'deleted' };
  const created = 'created_at' in MINIMAL[entity] ? { created_at: instant(round % ORDERS) } : {};
  return { ...place, data: { ...MINIMAL[entity], ...created, ...own } };
}

function stateAt(index: number, round: number): [entity: EntityName, id: number, data?: object] {
  const text = index.toString(36);
  switch (round % 16) {
    case 0:
      return [
        'store',
        0,
        { name: text, timezone_offset: OFFSETS[Math.floor(round / 800) % OFFSETS.length] },
      ];
    case 1:
    case 2:
      return ['customer', (round * 7) % CUSTOMERS, { name: `Cliente ${text}`, phone: '11 9' }];
    case 3:
      return ['category', round % 6, { name: text, position: round % 5, active: round % 3 > 0 }];
    case 4:
    case 5:
      return [
        'product',
        round % 30,
        {
          name: text,
          category_id: `category-${round % 6}`,
          option_group_ids: [`option_group-${round % 4}`],
          position: round % 9,
        },
      ];
    case 6:
      return ['option_group', round % 4, { name: text }];
    case 7:
      return ['review', round % 50, { rating: 1 + (index % 5), customer_id: 'customer-1' }];
    case 8:
      return ['campaign', round % 9, { name: text }];
    case 9:
      return ['coupon', round % 9, { code: text }];
    default: {
      const customer = { id: `customer-${(round * 7) % CUSTOMERS}`, name: 'Maria', phone: '11 9' };
      const data = {
        status: ['pending', 'confirmed', 'ready', 'delivered'][index % 4],
        order_type: round % 3 === 0 ? 'takeout' : 'delivery',
        total: `${index}.00`,
        ...(round % 5 === 0 ? {} : { customer }),
      };
      return ['order', (round * 11) % ORDERS, data];
    }
  }
}

function instant(index: number): Date {
  return new Date(Date.UTC(2026, 2, 1) + index * 61_000);
}
