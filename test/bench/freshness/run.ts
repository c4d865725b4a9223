/** `npm run bench -- freshness`: from an event's `time` to the API's answer. */
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { eventually } from '#test/eventually.ts';
import { type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { type Bench, grouped, numberOption, secondsOption, table } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { serviceProgram } from '../service.ts';
import { fetchTokens, publishKeys } from '#test/tokens.ts';
import { say } from '../say.ts';
import { type Ages, agesOf, holdBack, type LiveStore, publishSteadily, visit } from './stream.ts';

interface FreshnessOptions {
  rate: number;
  seconds: number;
  backlog: number;
  every: number;
}

const PARTITIONS = 6;
/** The last partition gets the backlog, and no stream. */
const LATE: LiveStore = { storeId: 'late', partition: PARTITIONS - 1, waiting: new Map() };
const WARM_UP_SECONDS = 3;
const SEEN_LIMIT_MS = 60_000;
const TARGET_MS = 250;

async function run(
  { installation, start }: BenchContext,
  options: FreshnessOptions,
): Promise<string> {
  const { rate, seconds, backlog, every } = options;
  const stores = times(PARTITIONS - 1, (partition): LiveStore => {
    return { storeId: `live-${partition}`, partition, waiting: new Map() };
  });
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  await start(serviceProgram('projector'));
  await publishSteadily(installation, stores, { rate, seconds: WARM_UP_SECONDS });
  await caughtUp(installation);
  const { url } = await start(serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);

  const measure = async (
    length: number,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ) => {
    for (const { waiting } of stores) waiting.clear();
    const visits = stores.map((store) => visit(url, tokens.get(store.storeId) ?? '', store, every));
    let ages: number[][] = [];
    try {
      await Promise.all([
        publishSteadily(installation, stores, { rate, seconds: length }),
        meanwhile(),
      ]);
      const allSeen = () => stores.every(({ waiting }) => waiting.size === 0);
      await eventually('the API shows every order', allSeen, SEEN_LIMIT_MS);
    } finally {
      ages = await Promise.all(visits.map((stop) => stop()));
    }
    return agesOf(ages.flat());
  };
  await measure(WARM_UP_SECONDS);
  const calm = await measure(seconds);
  say(`calm: ${JSON.stringify(calm)}`);
  const letGo = await holdBack(installation, LATE, backlog);
  say(`${backlog} events held back`);
  const late = await measure(seconds, letGo);
  say(`with the backlog: ${JSON.stringify(late)}`);
  const applied = await appliedOf(installation);
  const row = (name: string, { events, p50_ms: p50, p99_ms: p99, max_ms: max }: Ages) => [
    name,
    grouped(events),
    ...[p50, p99, max].map(String),
    p99 < TARGET_MS ? 'yes' : 'no',
  ];
  return `${table(
    ['stream', 'events', 'age p50 ms', 'age p99 ms', 'age max ms', `p99 below ${TARGET_MS} ms`],
    [row('calm', calm), row('with a backlog', late)],
  )}

Five clients request the orders of their stores every ${every} ms. The backlog of ${grouped(backlog)} orders arrived on a sixth partition at the beginning of the second stream; at its end ${grouped(applied)} of them were applied.`;
}

/** The number of events of the backlog that are applied. */
async function appliedOf(installation: Installation): Promise<number> {
  const db = await readModels(installation);
  const checkpoint = await db
    .collection<{ _id: string; position: number }>(CHECKPOINTS)
    .findOne({ _id: `${changesTopic(installation.environment)}/${LATE.partition}` });
  return checkpoint?.position ?? 0;
}

export const freshnessBench: Bench<FreshnessOptions> = {
  name: 'freshness',
  description: 'The time from an event until the API shows it.',
  options: [
    numberOption('rate', 'new orders a second', 1_000),
    secondsOption(10),
    numberOption('backlog', 'events that wait on another partition', 60_000),
    numberOption('every', 'milliseconds between a client’s requests', 50),
  ],
  partitions: PARTITIONS,
  run,
};
