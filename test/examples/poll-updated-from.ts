/**
 * Polls orders by the greatest `updated_at`, as clients did before the change feed. This client
 * loses orders.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type OrderSummary } from '../../deploy/clients/typescript/index.ts';

const { BASE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', COPY = '' } = process.env;
const PAUSE_MS = 500;

const stored = existsSync(COPY) ? (JSON.parse(readFileSync(COPY, 'utf8')) as OrderSummary[]) : [];
const orders = new Map(stored.map((order) => [order.id, order]));

if (process.argv.includes('--print')) {
  for (const record of orders.values()) {
    process.stdout.write(`${JSON.stringify({ kind: 'order', id: record.id, record })}\n`);
  }
} else {
  const store = createClient({
    baseUrl: BASE_URL,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
  });
  for (;;) {
    const greatest = [...orders.values()]
      .map((order) => order.updated_at)
      .reduce((a, b) => (a > b ? a : b), '');
    const filters = greatest === '' ? {} : { updated_from: greatest };
    for await (const order of store.orders.list(filters, { retries: Infinity }))
      orders.set(order.id, order);
    writeFileSync(`${COPY}.new`, JSON.stringify([...orders.values()]));
    renameSync(`${COPY}.new`, COPY);
    await sleep(PAUSE_MS);
  }
}
