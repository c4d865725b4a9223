/** From nothing to a result: servers, stores on both sides, then one request after the other. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '#local/stack/program/guard.ts';
import { createInstallation } from '#test/installation.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine } from '../machine.ts';
import type { Say } from '../say.ts';
import { startServers } from '../servers.ts';
import { prepare } from './agreement.ts';
import { fillStores } from './fill.ts';
import type { QueryBenchOptions } from './options.ts';
import { progressLine } from './report/screen.ts';
import { benchRequests } from './requests.ts';
import type { QueryBenchResult, RowResult } from './result.ts';
import { measure } from './rounds.ts';
import { startSides } from './side.ts';
import { makeStores } from './stores/stores.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

/** Where load would end a request, both sides shall show it as time. */
const SETTINGS = {
  QUOTA_REQUESTS: '1000000000',
  TOKEN_LIFETIME_SECONDS: '86400',
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
};

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runQueryBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<QueryBenchResult> {
  const { records, connections, seconds, rounds, only = '' } = options;
  const requests = benchRequests(records).filter(({ name }) => name.includes(only));
  if (requests.length === 0) throw new Error(`no request has “${only}” in its name`);
  await startServers(say, cleanup);
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const folder = await mkdtemp(join(tmpdir(), 'store-data-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const installation = await createInstallation({ settings: SETTINGS });
  cleanup.defer(() => installation.close());

  const stores = makeStores(records);
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  say(`filling ${stores.reduce((sum, store) => sum + store.records.length, 0)} records on both sides`);
  await fillStores(installation, stores, folder, guard, say);
  const sides = await startSides(installation, folder, guard, cleanup);
  const tokens = await fetchTokens(sides.ours, keys);
  const prepared = [];
  for (const request of requests) prepared.push(await prepare(request, sides, tokens));
  say('both sides answer the same');

  const load = startLoad(cleanup);
  const rows: RowResult[] = [];
  for (const each of prepared) {
    const row = await measure(load, each, options);
    say(progressLine(row));
    rows.push(row);
  }
  return {
    benchmark: 'query',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: commandOf(options),
    records,
    connections,
    seconds,
    rounds,
    rows,
  };
}

function commandOf({ records, connections, seconds, rounds, only }: QueryBenchOptions): string {
  const numbers = `--records ${records} --connections ${connections} --seconds ${seconds} --rounds ${rounds}`;
  return `npm run bench -- query ${numbers}${only === undefined ? '' : ` --only '${only}'`}`;
}
