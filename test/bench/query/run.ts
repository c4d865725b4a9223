/** `npm run bench -- query`: a mixed load of many stores, compared with a usual implementation. */
import assert from 'node:assert/strict';
import { Option } from 'commander';
import type { Db } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { type Bench, grouped, numberOption, roundsOption, secondsOption, table } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { type InTurnOptions, measureInTurn, type Side, WARM_UP_SECONDS } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { pidOfMongodb } from '../process-figures.ts';
import { say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';
import { usualWayDatabase } from '../usual-way/documents.ts';
import { type MixedRow, mixedRows } from './mix.ts';
import { setUp, type Setup } from './setup.ts';
import { mixedStores, orderRecord, pick, storeOf, type StoreSize } from './stores.ts';

interface QueryOptions extends InTurnOptions {
  records: number;
  only?: string;
}

/** Ordinary clients send it. */
const ENCODING = { 'accept-encoding': 'gzip' };

/** The compared answers per row. */
const COMPARED = 12;
const WRITES_A_SECOND = 20;

async function run(context: BenchContext, options: QueryOptions): Promise<string> {
  const { records, only = '' } = options;
  const stores = mixedStores(records);
  const wanted = mixedRows(stores).filter(({ name }) => name.includes(only));
  if (wanted.length === 0) throw new Error(`no request has “${only}” in its name`);
  const setup = await setUp(context, stores.map(storeOf));
  const { sides } = setup;
  const { installation, cleanup } = context;
  for (const row of wanted) await compareAnswers(row, setup);
  say('both sides answer the same');
  await context.start(serviceProgram('projector'));
  const mongod = await pidOfMongodb(installation.mongodb);

  const load = startLoad(cleanup);
  const { connections, seconds } = options;
  const asked = { url: `${sides.ours.url}/health`, headers: {}, status: 200, connections, seconds };
  await load({ ...asked, seconds: WARM_UP_SECONDS });
  const { perSecond: health } = await load(asked);
  const rows: string[][] = [];
  const behind: string[] = [];
  for (const row of wanted) {
    const sideOf = (service: RunningService) => sideFor(service, row, setup, mongod);
    const pair = { ours: await sideOf(sides.ours), other: await sideOf(sides.usualWay) };
    const stopWrites = row.isWritten ? writeOrders(installation, stores) : async () => undefined;
    const { ours, other, ratio, cpuRatio } = await measureInTurn(load, pair, options);
    await stopWrites();
    if (ratio < 1 || cpuRatio < 1) behind.push(row.name);
    const figures = [ours, other].flatMap(({ perSecond, p99Ms, cpuMs, mongodbMs }) => [
      grouped(perSecond),
      p99Ms.toFixed(p99Ms < 100 ? 1 : 0),
      grouped(cpuMs * 1_000),
      grouped(mongodbMs * 1_000),
    ]);
    const ofHealth = (ours.perSecond / health).toFixed(2);
    rows.push([row.name, ...figures, `${ratio.toFixed(2)}×`, `${cpuRatio.toFixed(2)}×`, ofHealth]);
    say(rows.at(-1)?.join('  ') ?? '');
  }
  const verdict = behind.length === 0 ? 'Faster in every row.' : `Slower: ${behind.join('; ')}.`;
  return `${table(TITLES, rows)}\n\n${verdict}`;
}

const SIDE = ['req/s', 'p99 ms', 'cpu µs', 'MongoDB µs'];
const TITLES = [
  'request',
  ...SIDE,
  'usual: req/s',
  ...SIDE.slice(1),
  'ratio',
  'cpu ratio',
  'of /health',
];

/** The order for the load generator. */
async function sideFor(
  { url, pid }: RunningService,
  { requests, isPoll }: MixedRow,
  { tokens }: Setup,
  mongod: number | null,
): Promise<Side> {
  const sent = [];
  for (const { storeId, path } of requests) {
    const headers = { authorization: `Bearer ${tokens.get(storeId) ?? ''}`, ...ENCODING };
    const answered = isPoll ? await fetch(`${url}${path}`, { headers }) : null;
    const etag = answered?.headers.get('etag');
    sent.push({ path, headers: etag ? { ...headers, 'if-none-match': etag } : headers });
  }
  return { pid, mongod, url, headers: {}, requests: sent, status: isPoll ? 304 : 200 };
}

/** @throws if the two sides give different answers. */
async function compareAnswers(
  { name, requests }: MixedRow,
  { sides, tokens }: Setup,
): Promise<void> {
  for (const { storeId, path } of requests.slice(0, COMPARED)) {
    const authorization = `Bearer ${tokens.get(storeId) ?? ''}`;
    const [ours, usualWay] = await Promise.all(
      [sides.ours, sides.usualWay].map(async ({ url }) => {
        const answer = await fetch(url + path, { headers: { authorization, ...ENCODING } });
        return answer.json();
      }),
    );
    assert.deepEqual(ours, usualWay, `${name}, ${storeId} ${path}`);
  }
}

/** Writes orders to both sides. @returns a function that stops. */
function writeOrders(
  installation: Installation,
  stores: readonly StoreSize[],
): () => Promise<void> {
  const db: Db = usualWayDatabase(installation.mongodb, installation.config.namePrefix);
  let sequence = Date.now();
  let written = Promise.resolve();
  const write = async () => {
    sequence += 1;
    const { storeId, orders, customers } = pick(stores, sequence);
    const { id, state } = orderRecord(sequence % orders, customers);
    const now = new Date();
    const data = { ...state, updated_at: now.toISOString() };
    await installation.publish([{ entity: 'order', storeId, subject: id, sequence, data }]);
    await db
      .collection<{ _id: string }>(COLLECTIONS.order)
      .updateOne({ _id: `${storeId}/${id}` }, { $set: { updated_at: now } });
  };
  const timer = setInterval(() => {
    written = Promise.all([written, write()]).then(() => undefined);
  }, 1_000 / WRITES_A_SECOND);
  return async () => {
    clearInterval(timer);
    await written;
  };
}

export const queryBench: Bench<QueryOptions> = {
  name: 'query',
  description:
    'Requests to twenty stores, compared with a usual implementation with Fastify and the driver.',
  options: [
    numberOption(
      'records',
      'orders of the largest store; the others have a twentieth and a two thousandth',
      200_000,
      2_000,
    ),
    numberOption('connections', 'concurrent connections', 20),
    secondsOption(3),
    roundsOption(),
    new Option('--only <text>', 'only requests whose name contains this'),
  ],
  run,
};
