/** What a menu and a product list cost the query service, of stores of which nothing has changed, and of those that have. */
import { rounded } from '../median.ts';
import { cpuSeconds } from '../process-figures.ts';

export interface Priced {
  requests: number;
  requests_per_second: number;
  /** Milliseconds of the service's processor time for one request. */
  cpu_ms: number;
}

export interface PricedOptions {
  query: { url: string; pid: number };
  tokens: ReadonlyMap<string, string>;
  connections: number;
}

/** Asks each of some stores, one after the other, over several connections. */
export async function price(
  { query, tokens, connections }: PricedOptions,
  path: string,
  storeIds: readonly string[],
): Promise<Priced> {
  const cpu = await cpuSeconds(query.pid);
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < storeIds.length) {
        const storeId = storeIds[next] ?? '';
        next += 1;
        const response = await fetch(`${query.url}${path}`, {
          headers: { authorization: `Bearer ${tokens.get(storeId) ?? ''}`, 'accept-encoding': 'identity' },
        });
        if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
        await response.arrayBuffer();
      }
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  return {
    requests: storeIds.length,
    requests_per_second: rounded(storeIds.length / seconds, 0),
    cpu_ms: rounded((((await cpuSeconds(query.pid)) - cpu) * 1_000) / storeIds.length, 3),
  };
}
