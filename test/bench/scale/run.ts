/** One number of stores after the other, each on an installation of its own: projectors first, then query services over what they wrote. */
import { loadavg } from 'node:os';
import { layGround } from '../ground.ts';
import { type Load, startLoad } from '../load/load.ts';
import { describeMachine } from '../machine.ts';
import { rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import { publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import type { RunningService } from '../service.ts';
import { authorize, prepareClients } from './clients.ts';
import { storeId } from './orders.ts';
import { measureProjectors } from './projectors.ts';
import { measureQueries } from './queries.ts';
import type { ProjectorFigures, ScaleOptions, ScaleRecord } from './result.ts';
import { measureStorage } from './storage.ts';

const PARTITIONS = 6;
/** Frozen while events are published, a projector keeps its partitions. */
const SETTINGS = { KAFKA_SESSION_TIMEOUT_MS: '12000' };
const WARM_UP_ORDERS = 1_000;
/** So many stores have clients, of more the first: each needs a key, a token and an entity tag, and clients take turns. */
const MOST_CLIENTS = 2_000;

/** Measures one number of stores; whatever it starts ends with `cleanup`. */
export async function runScaleBench(
  options: ScaleOptions,
  stores: number,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ScaleRecord[]> {
  const load = loadavg()[0] ?? 0;
  const ground = await layGround(say, cleanup, SETTINGS, { partitions: PARTITIONS });
  const { installation, start } = ground;
  const keys = await publishKeys(
    installation,
    Array.from({ length: Math.min(stores, MOST_CLIENTS) }, (_, index) => storeId(index)),
  );
  // Every store gets an order, whatever their number.
  const warmUpCount = Math.max(WARM_UP_ORDERS, stores);
  let from = 0;
  const take = (count: number) => {
    from += count;
    return { from: from - count, count };
  };
  const projectors: ProjectorFigures[] = [];
  for (const instances of options.instances) {
    const ranges = { warmUp: take(from === 0 ? warmUpCount : WARM_UP_ORDERS), orders: take(options.orders) };
    const figures = await measureProjectors(ground, { instances, stores, keys, ...ranges });
    projectors.push(figures);
    say(
      `${stores} stores, ${instances} projectors: ${Math.round(figures.events_per_second)} events/s, ${figures.cpu_us.toFixed(0)} µs`,
    );
  }

  const program = await serviceProgram('query');
  const services: RunningService[] = [];
  const loads: Load[] = [];
  const startAnother = async () => {
    const service = await start({ ...program, name: `query-${services.length + 1}` });
    services.push(service);
    loads.push(startLoad(cleanup));
    return service;
  };
  const first = await startAnother();
  const tokens = await authorize(first.url, keys);
  const clients = await prepareClients(first.url, tokens);
  say(`${keys.length} of ${stores} stores have tokens`);
  const storage = await measureStorage(installation, keys.length);
  const records: ScaleRecord[] = [];
  for (const [index, instances] of options.instances.entries()) {
    while (services.length < instances) await startAnother();
    const asked = { installation, services: services.slice(0, instances), loads, clients };
    const { requests, peakMib } = await measureQueries(asked, options);
    const projector = projectors[index];
    if (projector === undefined) throw new Error('nothing was measured');
    say(
      `${stores} stores, ${instances} query services: ${Object.entries(requests)
        .map(
          ([kind, { per_second: rate, cpu_us: cpu }]) => `${kind} ${Math.round(rate)}/s ${cpu.toFixed(0)} µs`,
        )
        .join(', ')}`,
    );
    records.push({
      benchmark: 'scale',
      date: new Date().toISOString().slice(0, 10),
      machine: await describeMachine(installation.mongodb),
      load_average: rounded(load, 1),
      orders: options.orders,
      connections: options.connections,
      seconds: options.seconds,
      stores,
      instances,
      projector,
      requests,
      query_peak_mib: peakMib,
      storage,
    });
  }
  return records;
}
