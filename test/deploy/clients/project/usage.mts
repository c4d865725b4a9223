// Compiles only if the types of the client are as strict as they should be.
import { ApiError, createClient, type Order, toInstant } from 'store-data-client';

const store = createClient({
  baseUrl: 'https://api.example.com',
  clientId: 'a',
  clientSecret: 'b',
  scopes: ['order'],
});
/** Absent, as it comes from a database. */
declare const stored: { next: string } | undefined;

export async function use(): Promise<Date> {
  const order: Order = await store.orders.get('o1', { timeoutMs: 1_000 });
  const amount: string = order.items[0]?.unit_price ?? order.total;
  // @ts-expect-error money stays a string
  amount.toFixed(2);
  for await (const { item_count } of store.orders.list({
    status: ['pending'],
    created_from: '2026-11-20T00:00:00',
  })) {
    item_count.toFixed();
  }
  for await (const { count, results } of store.customers.pages({ search: 'silva' })) {
    results.slice(0, count).map(({ birth_date }) => birth_date);
  }
  // @ts-expect-error there is no such filter
  store.orders.list({ statsu: ['pending'] });
  // @ts-expect-error there is no such status
  store.orders.list({ status: ['eaten'] });
  // @ts-expect-error categories have no filters but the size of the page
  store.categories.list({ status: ['pending'] });
  // @ts-expect-error customers have no details
  store.customers.get('c1');
  // @ts-expect-error there is no such kind
  store.changes({ kinds: ['orders'] });
  // @ts-expect-error there is no such parameter
  store.changes({ kind: 'order' });
  // @ts-expect-error a client needs a secret
  createClient({ baseUrl: 'https://api.example.com', clientId: 'a' });

  const menu = await store.menu({ ifNoneMatch: '' });
  if (!menu.unchanged) menu.value.categories[0]?.products.map(({ option_groups }) => option_groups);
  // @ts-expect-error it may be unchanged
  menu.value.categories.slice();

  for await (const { results } of store.changes({
    kinds: ['order', 'product'],
    after: stored?.next,
  })) {
    for (const change of results) {
      if (change.deleted) continue;
      if (change.kind === 'order') change.record.payments.map(({ method }) => method);
      else change.record.option_group_ids.map((id) => id);
    }
  }
  for await (const { results } of store.changes({ kinds: ['order'], records: 'summary' })) {
    for (const { record } of results) {
      record?.total.slice();
      // @ts-expect-error summaries have no items
      record?.items.slice();
    }
  }
  const { timezone_offset } = await store.info().catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found')
      return { timezone_offset: '-03:00' };
    throw error;
  });
  return toInstant(order.created_at, timezone_offset);
}
