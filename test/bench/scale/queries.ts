/** Measures query services that serve the same stores. */
import type { Installation } from '#test/installation.ts';
import type { Load } from '../load/load.ts';
import { cpuSeconds, peakMebibytes } from '../process-figures.ts';
import type { RunningService } from '../service.ts';
import { bytesOf, type Clients, PATHS, STATUS } from './clients.ts';
import { type Kind, KINDS, type RequestFigures, type ScaleOptions } from './result.ts';
import { difference, lookAtServers, microseconds } from './server-figures.ts';

const WARM_UP_SECONDS = 1;

export interface Queries {
  installation: Installation;
  services: readonly RunningService[];
  /** One process for each service. */
  loads: readonly Load[];
  clients: Clients;
}

export async function measureQueries(
  queries: Queries,
  options: Pick<ScaleOptions, 'connections' | 'seconds'>,
): Promise<{ requests: Record<Kind, RequestFigures>; peakMib: number }> {
  const requests: [Kind, RequestFigures][] = [];
  for (const kind of KINDS) {
    await run(queries, kind, { ...options, seconds: WARM_UP_SECONDS });
    requests.push([kind, await measure(queries, kind, options)]);
  }
  const peaks = await Promise.all(queries.services.map(({ pid }) => peakMebibytes(pid)));
  return {
    requests: Object.fromEntries(requests) as Record<Kind, RequestFigures>,
    peakMib: Math.max(...peaks),
  };
}

async function measure(
  queries: Queries,
  kind: Kind,
  options: Pick<ScaleOptions, 'connections' | 'seconds'>,
): Promise<RequestFigures> {
  const { installation, services, clients } = queries;
  const cpuOf = async () => {
    const each = await Promise.all(services.map(({ pid }) => cpuSeconds(pid)));
    return each.reduce((sum, seconds) => sum + seconds, 0);
  };
  const serversBefore = await lookAtServers(installation);
  const cpuBefore = await cpuOf();
  const began = performance.now();
  const results = await run(queries, kind, options);
  const elapsed = (performance.now() - began) / 1_000;
  const cpu = (await cpuOf()) - cpuBefore;
  const servers = difference(serversBefore, await lookAtServers(installation));
  const perSecond = results.reduce((sum, { requests_per_second: rate }) => sum + rate, 0);
  const count = perSecond * elapsed;
  const [service] = services;
  const [headers = {}] = clients[kind];
  return {
    per_second: perSecond,
    p50_ms: Math.max(...results.map(({ p50_ms: p50 }) => p50)),
    p99_ms: Math.max(...results.map(({ p99_ms: p99 }) => p99)),
    cpu_us: microseconds(cpu, count),
    mongodb_us: servers.mongodbCpu === null ? null : microseconds(servers.mongodbCpu, count),
    redis_us: microseconds(servers.redisCpu, count),
    client_bytes: await bytesOf(`${service?.url}${PATHS[kind]}`, headers, STATUS[kind]),
    mongodb_bytes: servers.mongodbBytes / count,
    redis_bytes: servers.redisBytes / count,
  };
}

/** All services at the same time, with their part of the connections. */
function run(
  { services, loads, clients }: Queries,
  kind: Kind,
  { connections, seconds }: Pick<ScaleOptions, 'connections' | 'seconds'>,
) {
  return Promise.all(
    services.map(({ url }, index) => {
      const load = loads[index];
      if (load === undefined) throw new Error('a service has no load');
      return load({
        url: `${url}${PATHS[kind]}`,
        headers: {},
        each: clients[kind],
        sharedOut: true,
        connections: Math.ceil(connections / services.length),
        seconds,
        status: STATUS[kind],
      });
    }),
  );
}
