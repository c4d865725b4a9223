/** Two stores alike, one of them read in bodies made for another offset; then a large one that moves beside live events. */
import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { layGround } from '../ground.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import { chunksOf } from '../query/stores/chunks.ts';
import { orderRecord } from '../query/stores/order.ts';
import { storeRecord } from '../query/stores/store.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import { type LiveResult, measureLive, until } from './live.ts';
import { readCounts } from './metrics.ts';
import { measurePages, type PageResult } from './page.ts';

export interface MovedOffsetOptions {
  orders: number;
  /** Live events a second. */
  rate: number;
  connections: number;
  seconds: number;
  rounds: number;
}

export interface MovedOffsetResult extends MovedOffsetOptions {
  benchmark: 'moved-offset';
  date: string;
  machine: Machine;
  command: string;
  /** Before it began: other programs on the machine. */
  load_average: number;
  page: PageResult;
  live: LiveResult;
  /** The percentage of time that rewriting may take. */
  share: number;
}

const PAGE_STORES = ['made', 'shifted'] as const;
const PAGE_ORDERS = 200;
const PATH = '/api/order/list?page_size=100';
const OTHER_OFFSET = '-03:00';
const FILL_LIMIT_MS = 300_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runMovedOffsetBench(
  options: MovedOffsetOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<MovedOffsetResult> {
  const load = loadavg()[0] ?? 0;
  const { installation, start } = await layGround(say, cleanup);
  const { environment, mongodb, config } = installation;
  const keys = await publishKeys(installation, PAGE_STORES);
  const projector = await start(await serviceProgram('projector'));
  for (const storeId of PAGE_STORES) await publishStore(installation, storeId, PAGE_ORDERS);
  await publishStore(installation, 'large', options.orders);
  await caughtUp(installation, environment, FILL_LIMIT_MS);
  say('filled');

  const db = await readModels(installation);
  const orders = db.collection<OrderDocument>(COLLECTIONS.order);
  const before = await orders.find({ store_id: 'shifted' }).toArray();
  await move(installation, PAGE_STORES);
  await until(async () => (await readCounts(projector.url)).rewritten >= PAGE_STORES.length * PAGE_ORDERS);
  // As if it had not been rewritten yet.
  for (const { _id, ...order } of before) await orders.replaceOne({ _id }, order);

  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, keys);
  const [made, shifted] = PAGE_STORES.map((storeId) => ({
    pid: query.pid,
    url: `${query.url}${PATH}`,
    headers: { authorization: `Bearer ${tokens.get(storeId) ?? ''}` },
    status: 200,
  }));
  assert.ok(made !== undefined && shifted !== undefined);
  const page = await measurePages(startLoad(cleanup), { made, shifted }, { ...options, warmUpSeconds: 1 });
  say(`a page: ${page.made.requests_per_second}/s, shifted ${page.shifted.requests_per_second}/s`);

  await move(installation, ['large']);
  const live = await measureLive({ ...options, installation, db, projector, say }, 'large');
  const { orders: count, rate, connections, seconds, rounds: times } = options;
  return {
    benchmark: 'moved-offset',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(mongodb),
    command: `npm run bench -- moved-offset --orders ${count} --rate ${rate} --connections ${connections} --seconds ${seconds} --rounds ${times}`,
    ...options,
    load_average: rounded(load, 1),
    page,
    live,
    share: config.projector.rewritingShare,
  };
}

async function publishStore(installation: Installation, storeId: string, count: number): Promise<void> {
  const records = [
    storeRecord(storeId),
    ...Array.from({ length: count }, (_, index) => orderRecord(index, count)),
  ];
  for (const chunk of chunksOf(records, 2_000)) {
    await installation.publish(
      chunk.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
    );
  }
}

async function move(installation: Installation, storeIds: readonly string[]): Promise<void> {
  await installation.publish(
    storeIds.map((storeId) => {
      const { entity, id, state } = storeRecord(storeId);
      const data = { ...state, timezone_offset: OTHER_OFFSET };
      return { entity, storeId, subject: id, sequence: 2, data };
    }),
  );
}
