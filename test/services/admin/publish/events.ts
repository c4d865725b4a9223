/** Lines of NDJSON for tests of `publish`. */

/** An order event as an object; `over` replaces attributes. */
export function orderEvent(storeId: string, id: string, over: object = {}): object {
  return {
    specversion: '1.0',
    id: `${storeId}-${id}`,
    source: '/pos',
    type: 'store-data.order.changed',
    subject: id,
    time: '2026-11-20T21:15:04.120Z',
    storeid: storeId,
    sequence: '1',
    data: {
      status: 'pending',
      order_type: 'delivery',
      total: '39.90',
      created_at: '2026-11-20T21:15:04Z',
    },
    ...over,
  };
}

export function orderLine(storeId: string, id: string, over: object = {}): string {
  return JSON.stringify(orderEvent(storeId, id, over));
}
