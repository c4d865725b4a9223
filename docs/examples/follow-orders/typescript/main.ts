// Follows the orders of the store that the key belongs to, until Ctrl-C.
import { Copy } from './copy.ts';
import { followOrders } from './follow.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const copy = new Copy(process.env['COPY'] ?? 'orders.sqlite');
await followOrders({
  baseUrl: required('BASE_URL'),
  clientId: required('CLIENT_ID'),
  clientSecret: required('CLIENT_SECRET'),
  share: Number(process.env['QUOTA_SHARE'] ?? 1),
  copy,
  signal: stop.signal,
  taken: (changes) => {
    if (changes > 0) console.log(`${changes} changes`);
  },
});
copy.close();

function required(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  console.error(`${name} is not set`);
  return process.exit(2);
}
