/** What traces cost a request: the query service with a part of them and with all, each beside one without, in turn. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { layGround } from '../ground.ts';
import { measureInTurn, type Round, summarize } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { peakMebibytes } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import { fillStores } from '../query/fill.ts';
import { makeStores, RECORDS_STORE } from '../query/stores/stores.ts';
import { fetchToken, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';

export interface TracingBenchOptions {
  connections: number;
  seconds: number;
  rounds: number;
}

export interface TracingBenchResult extends TracingBenchOptions {
  benchmark: 'tracing';
  date: string;
  machine: Machine;
  comparisons: ({ name: string } & ReturnType<typeof summarize>)[];
  memory: { name: string; mebibytes: number }[];
}

/** Few, as for access: what traces cost does not depend on them. */
const RECORDS = 200;
const ROUTES = [
  ['order details', '/api/order/details/?order_id=o7'],
  ['order list', '/api/order/list'],
] as const;
const SAMPLED = {
  'one in a hundred': { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' },
  all: { OTEL_TRACES_SAMPLER: 'parentbased_always_on' },
};

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runTracingBench(
  options: TracingBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<TracingBenchResult> {
  const ground = await layGround(say, cleanup);
  const [key] = await publishKeys(ground.installation, [RECORDS_STORE]);
  if (key === undefined) throw new Error('there is no key');
  const stores = makeStores(RECORDS).filter(({ storeId }) => storeId === RECORDS_STORE);
  await fillStores(ground, stores, say);
  const endpoint = await startSink(cleanup);
  const program = await serviceProgram('query');
  const without = await ground.start(program);
  const load = startLoad(cleanup);
  const headers = { authorization: `Bearer ${await fetchToken(without.url, key)}` };
  const comparisons: TracingBenchResult['comparisons'] = [];
  const services = [{ name: 'none', pid: without.pid }];
  for (const [name, sampler] of Object.entries(SAMPLED)) {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...sampler };
    const traced = await ground.start({ ...program, name: `traced-${services.length}` }, env);
    services.push({ name, pid: traced.pid });
    for (const [route, path] of ROUTES) {
      const side = ({ url, pid }: typeof traced) => ({ pid, url: `${url}${path}`, headers, status: 200 });
      const sides = { ours: side(traced), other: side(without) };
      const measured = await measureInTurn(load, sides, { ...options, warmUpSeconds: 1 });
      const compared = { name: `${route}, ${name}`, ...summarize(measured, cpuRatio) };
      say(`${compared.name}: ${compared.ratio.toFixed(2)}×`);
      comparisons.push(compared);
    }
  }
  return {
    benchmark: 'tracing',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(ground.installation.mongodb),
    ...options,
    comparisons,
    memory: await Promise.all(
      services.map(async ({ name, pid }) => ({ name, mebibytes: Math.round(await peakMebibytes(pid)) })),
    ),
  };
}

/** Processor time lasts where requests a second are those of a busy machine. */
function cpuRatio({ ours, other }: Round): number {
  return ours.cpu_ms / other.cpu_ms;
}

/** A collector that takes everything and keeps nothing. */
async function startSink(cleanup: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
