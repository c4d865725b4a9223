/** Fills a large store, measures pages of its changes, then clients that wait, then a store that changes adversely. */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { layGround } from '../ground.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import { orderState } from '../projector/topic/order.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import { type Missed, missByFollowing } from './missed.ts';
import { measurePages, type PagesResult } from './pages.ts';
import { measureWaiting, type WaitingResult } from './waiting.ts';

export interface ChangesOptions {
  records: number;
  waiters: number;
  stores: number;
  rate: number;
  connections: number;
  seconds: number;
  rounds: number;
}

export interface ChangesResult extends ChangesOptions {
  benchmark: 'changes';
  date: string;
  command: string;
  machine: Machine;
  /** Before it began: other programs on the machine. */
  load_average: number;
  pages: PagesResult;
  waiting: WaitingResult;
  missed: Missed;
}

const LARGE = 'large';
const ADVERSE = 'adverse';
/** Stores whose orders come while somebody waits for them; each has a partition of its own. */
const LIVE_STORES = 5;
const FILL_LIMIT_MS = 900_000;
const CHUNK = 5_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runChangesBench(
  options: ChangesOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ChangesResult> {
  const load = loadavg()[0] ?? 0;
  const { installation, start } = await layGround(say, cleanup, {}, { partitions: LIVE_STORES });
  const quiet = Array.from({ length: options.stores }, (_, index) => `quiet-${index}`);
  const live = Array.from({ length: LIVE_STORES }, (_, partition) => ({
    storeId: `live-${partition}`,
    partition,
    waiting: new Map<string, number>(),
  }));
  const keys = await publishKeys(installation, [
    LARGE,
    ADVERSE,
    ...quiet,
    ...live.map(({ storeId }) => storeId),
  ]);
  await start(await serviceProgram('projector'));
  await fill(installation, options.records);
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  say('filled');
  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, keys);
  const tokenOf = (storeId: string) => tokens.get(storeId) ?? '';

  const pages = await measurePages(
    { installation, load: startLoad(cleanup), query, token: tokenOf(LARGE), storeId: LARGE },
    options,
  );
  say(`pages: ${pages.depths.map(({ share, ratio }) => `${share * 100} %: ${ratio}×`).join(', ')}`);
  await sleep(1_000);
  const waiting = await measureWaiting({ installation, query, quiet, live, tokenOf, say, cleanup }, options);
  const missed = await missByFollowing(installation, query.url, {
    storeId: ADVERSE,
    token: tokenOf(ADVERSE),
  });
  const { records, waiters, stores, rate, connections, seconds, rounds } = options;
  return {
    benchmark: 'changes',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- changes --records ${records} --waiters ${waiters} --stores ${stores} --rate ${rate} --connections ${connections} --seconds ${seconds} --rounds ${rounds}`,
    machine: await describeMachine(installation.mongodb),
    load_average: rounded(load, 1),
    ...options,
    pages,
    waiting,
    missed,
  };
}

async function fill({ publish }: Installation, records: number): Promise<void> {
  for (let first = 0; first < records; first += CHUNK) {
    const length = Math.min(CHUNK, records - first);
    await publish(
      Array.from({ length }, (_, index) => ({
        entity: 'order',
        storeId: LARGE,
        subject: `o${first + index}`,
        sequence: 1,
        data: orderState(first + index, 1),
      })),
    );
  }
}
