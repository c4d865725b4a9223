/** Polls orders by the greatest `updated_at`, as clients did before the change feed. This client loses orders. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { BASE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', COPY = '' } = process.env;
const PAGE_SIZE = 100;
const PAUSE_MS = 500;

interface Order {
  id: string;
  updated_at: string;
}

const orders = new Map(
  (existsSync(COPY) ? (JSON.parse(readFileSync(COPY, 'utf8')) as Order[]) : []).map((order) => [order.id, order]),
);

if (process.argv.includes('--print')) {
  for (const record of orders.values()) {
    process.stdout.write(`${JSON.stringify({ kind: 'order', id: record.id, record })}\n`);
  }
} else {
  const authorization = `Bearer ${await requestToken()}`;
  for (;;) await poll(authorization);
}

async function poll(authorization: string): Promise<void> {
  const greatest = [...orders.values()].map((order) => order.updated_at).reduce((a, b) => (a > b ? a : b), '');
  const since = greatest === '' ? '' : `&updated_from=${encodeURIComponent(greatest)}`;
  for (let page = 1, full = true; full; page += 1) {
    const url = `${BASE_URL}/api/order/list?page=${page}&page_size=${PAGE_SIZE}${since}`;
    const response = await fetch(url, { headers: { authorization } }).catch(() => null);
    if (response?.ok !== true) break;
    const { results } = (await response.json()) as { results: Order[] };
    for (const order of results) orders.set(order.id, order);
    full = results.length === PAGE_SIZE;
  }
  writeFileSync(`${COPY}.new`, JSON.stringify([...orders.values()]));
  renameSync(`${COPY}.new`, COPY);
  await sleep(PAUSE_MS);
}

async function requestToken(): Promise<string> {
  const response = await fetch(`${BASE_URL}/api/auth/token/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${CLIENT_ID}:${CLIENT_SECRET}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}
