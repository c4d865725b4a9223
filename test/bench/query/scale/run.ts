/** From nothing to a result at scale: deep stores and shallow ones on both sides, then one comparison after the other. */
import { loadavg } from 'node:os';
import { readModels } from '#test/read-models.ts';
import { startLoad } from '../../load/load.ts';
import { describeMachine } from '../../machine.ts';
import type { Say } from '../../say.ts';
import { usualWayDatabase } from '../../usual-way/database.ts';
import { prepare } from '../agreement.ts';
import type { QueryBenchOptions } from '../options.ts';
import { type Setup, setUp } from '../setup.ts';
import { compare, type PreparedRow } from './compare.ts';
import { measureCurves } from './curves.ts';
import { measureFootprints } from './footprint.ts';
import { memoryOf } from './memory.ts';
import { middlePages } from './middle.ts';
import { progressLine } from './report/screen.ts';
import type { ScaleResult, ScaleRowResult } from './result.ts';
import { type Row, scaleRows } from './rows.ts';
import { contentOf, neighbourStores, scaleStores } from './stores.ts';

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runScaleBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ScaleResult> {
  const { orders = 0, customers = 0, connections, seconds, rounds, only = '' } = options;
  const stores = scaleStores({ orders, customers });
  const neighbours = neighbourStores({ orders, customers });
  const content = [...stores, ...neighbours].map((store, index) => contentOf(store, index === 0));
  const setup = await setUp(content, say, cleanup);
  const { installation, sides, tokens, filled } = setup;
  const { mongodb, config } = installation;
  const rows = (await scaleRows(stores, neighbours, middlePages(sides.ours.url, tokens))).filter(({ name }) =>
    name.includes(only),
  );
  if (rows.length === 0) throw new Error(`no row has “${only}” in its name`);
  const prepared = [];
  for (const row of rows) prepared.push(await prepareRow(row, setup));
  say('both sides answer the same');

  const [loadAverage = 0] = loadavg();
  const load = startLoad(cleanup);
  const results: ScaleRowResult[] = [];
  for (const each of prepared) {
    const result = await compare(load, each, options);
    say(progressLine(result));
    results.push(result);
  }
  const curves = await measureCurves(load, setup, stores);
  return {
    benchmark: 'query at scale',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(mongodb),
    mongodb_cache_gib: await cacheGib(setup),
    load_average: loadAverage,
    command: commandOf(options),
    orders,
    customers,
    connections,
    seconds,
    rounds,
    filled,
    rows: results,
    curves,
    footprints: await measureFootprints(
      await readModels(installation),
      usualWayDatabase(mongodb, config.namePrefix),
    ),
    memory: await memoryOf(sides.ours.pid),
  };
}

/** @throws when the two sides answer a request of the row differently. */
async function prepareRow(row: Row, { sides, tokens }: Setup): Promise<PreparedRow> {
  const { ours, usualWay } = await prepare(row.request, sides, tokens);
  const { against } = row;
  const other = against.side === 'ours' ? (await prepare(against.request, sides, tokens)).ours : usualWay;
  return { row, ours, other };
}

async function cacheGib({ installation }: Setup): Promise<number> {
  const { wiredTiger } = (await installation.mongodb.db().admin().serverStatus()) as {
    wiredTiger: { cache: { 'maximum bytes configured': number } };
  };
  return wiredTiger.cache['maximum bytes configured'] / 2 ** 30;
}

function commandOf({ orders, customers, seconds, rounds, connections, only }: QueryBenchOptions): string {
  return [
    'npm run bench -- query',
    ...(orders === undefined ? [] : [`--orders ${orders}`]),
    ...(customers === undefined ? [] : [`--customers ${customers}`]),
    `--connections ${connections} --seconds ${seconds} --rounds ${rounds}`,
    ...(only === undefined ? [] : [`--only '${only}'`]),
  ].join(' ');
}
