/** The clients of all stores: a token for each, and what they ask. */
import { get } from 'node:http';
import { clientKey } from '#shared/access/redis-keys.ts';
import { eventually, type Installation } from '#test/installation.ts';
import { type BenchKey, fetchToken } from '../query/tokens.ts';
import { FIRST_ORDER } from './orders.ts';
import type { Kind } from './result.ts';

/** One of each kind. */
export const PATHS: Record<Kind, string> = {
  details: `/api/order/details/?order_id=${FIRST_ORDER}`,
  list: '/api/order/list',
  poll: '/api/order/list',
};
/** The status of the answers. */
export const STATUS: Record<Kind, number> = { details: 200, list: 200, poll: 304 };

/** The headers of each store's requests, by what is asked. */
export type Clients = Record<Kind, Record<string, string>[]>;

const AT_ONCE = 20;

/** Waits until Redis knows every key: while projectors run, who bring them there. */
export async function keysArrived({ redis, config }: Installation, keys: readonly BenchKey[]): Promise<void> {
  const records = keys.map(({ clientId }) => clientKey(config.namePrefix, clientId));
  await eventually('all keys have arrived', async () => (await redis.exists(...records)) === records.length);
}

/** Gets a token for every key. */
export function authorize(url: string, keys: readonly BenchKey[]): Promise<{ authorization: string }[]> {
  return eachAtOnce(keys, async (key) => ({ authorization: `Bearer ${await fetchToken(url, key)}` }));
}

/** Asks each store's list once, for its entity tag. */
export async function prepareClients(
  url: string,
  tokens: readonly { authorization: string }[],
): Promise<Clients> {
  const polls = await eachAtOnce(tokens, async (headers) => {
    const response = await fetch(`${url}${PATHS.poll}`, { headers });
    const { results } = (await response.json()) as { results?: unknown[] };
    if (results === undefined || results.length === 0)
      throw new Error(`a store has no orders: ${response.status}`);
    return { ...headers, 'if-none-match': response.headers.get('etag') ?? '' };
  });
  return { details: [...tokens], list: [...tokens], poll: polls };
}

/** Bytes of one request and its answer on the wire, headers included. */
export function bytesOf(url: string, headers: Record<string, string>, status: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers }, (response) => {
      if (response.statusCode !== status) reject(new Error(`${url} answered ${response.statusCode}`));
      const { socket } = response;
      response.resume().once('end', () => resolve(socket.bytesRead + socket.bytesWritten));
    });
    request.once('error', reject);
  });
}

async function eachAtOnce<T, R>(items: readonly T[], of: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let first = 0; first < items.length; first += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(first, first + AT_ONCE).map(of))));
  }
  return results;
}
