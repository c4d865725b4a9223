/** The store that the tests begin with. */
import type { Change } from 'store-data-api/testing';

export const fixtures: Change[] = [
  {
    entity: 'store',
    id: 's1',
    data: {
      name: 'Cantina da Nona',
      timezone_offset: '-03:00',
      created_at: '2026-01-02T12:00:00Z',
    },
  },
  order('o1', 'concluded', '39.90'),
  order('o2', 'concluded', '20.10'),
  order('o3', 'cancelled', '75.00'),
];

/** An order of the day that the tests report on. */
export function order(id: string, status: string, total: string): Change {
  const data = { status, order_type: 'delivery', total, created_at: '2026-03-02T21:30:00Z' };
  return { entity: 'order', id, data };
}
