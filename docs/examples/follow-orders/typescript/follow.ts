/** Follows a store: every change and deletion of its records reaches the copy, whatever goes wrong in between. */
import { setTimeout as sleep } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { Copy, Kind } from './copy.ts';
import { type Credentials, Session } from './session.ts';
import type { paths } from './store-data.d.ts';

export interface FollowOptions extends Credentials {
  copy: Copy;
  kinds: Kind[];
  /** Which part of the store's quota is ours: one fifth where five clients follow the same store. */
  share: number;
  signal: AbortSignal;
  /** Told of each answer that was taken in. */
  taken?: (changes: number) => void;
}

const PAGE_SIZE = 1_000;
const WAIT_SECONDS = 30;

/** Follows until the signal is aborted. @throws {Refused} where the API refuses for good. */
export async function followStore(options: FollowOptions): Promise<void> {
  const { copy, kinds, share, signal, taken, ...credentials } = options;
  const session = new Session(credentials, signal);
  const client = createClient<paths>({ baseUrl: credentials.baseUrl, fetch: session.fetch });
  const query = { kinds, records: 'whole', page_size: PAGE_SIZE, wait: WAIT_SECONDS } as const;
  while (!signal.aborted) {
    const after = copy.next;
    try {
      const { data, response } = await client.GET('/api/changes', {
        params: { query: after === undefined ? query : { ...query, after } },
      });
      if (data === undefined) throw new Error('an answer without a body');
      copy.take(data);
      taken?.(data.results.length);
      if (!data.more) await sleep(pauseMs(response, share), undefined, { signal });
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
  }
}

/** So long that our share of the quota lasts, as the service tells it: `"store";q=600;w=60`. */
export function pauseMs(response: Response, share: number): number {
  const policy = /;q=(\d+);w=(\d+)/.exec(response.headers.get('ratelimit-policy') ?? '');
  if (policy === null) return 1_000;
  const [, requests, seconds] = policy;
  return (Number(seconds) * 1_000) / (Number(requests) * share);
}
