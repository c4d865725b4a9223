/** From nothing to a result: servers, stores on both sides, then one request after the other. */
import { startLoad } from '../load/load.ts';
import { describeMachine } from '../machine.ts';
import type { Say } from '../say.ts';
import { prepare } from './agreement.ts';
import type { QueryBenchOptions } from './options.ts';
import { progressLine } from './report/screen.ts';
import { benchRequests } from './requests.ts';
import type { QueryBenchResult, RowResult } from './result.ts';
import { measure } from './rounds.ts';
import { setUp } from './setup.ts';
import { makeStores } from './stores/stores.ts';

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runQueryBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<QueryBenchResult> {
  const { records, connections, seconds, rounds, only = '' } = options;
  const requests = benchRequests(records).filter(({ name }) => name.includes(only));
  if (requests.length === 0) throw new Error(`no request has “${only}” in its name`);
  const { installation, sides, tokens } = await setUp(makeStores(records), say, cleanup);
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
