/**
 * `npm run soak`: hours of light, mixed load on new servers, and a check that nothing grows
 * meanwhile.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import fc from 'fast-check';
import { createSimulator } from '#local/simulator/simulator.ts';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { stream } from '#test/streams.ts';
import { type Bench, secondsOption } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { rounded } from '../median.ts';
import { cpuSeconds, residentMebibytes } from '../process-figures.ts';
import { publishKeys } from '../query/tokens.ts';
import { say } from '../say.ts';
import { serviceProgram } from '../service.ts';
import { askSteadily, Client, FEEDS, follow, makeAndRevoke, Tally } from './clients.ts';
import { judge, render, type Sample, type ServiceFigures } from './report.ts';

interface SoakOptions {
  seconds: number;
  file: string;
}

const STORES = 50;
const REQUESTS_PER_SECOND = 40;
/** Including related events, about 20 events a second. */
const ORDERS_PER_MINUTE = 150;
/** Orders that each store has at the beginning. */
const HISTORY = 100;
const FILL_LIMIT_MS = 600_000;
const SAMPLE_SECONDS = 60;

async function run(
  context: BenchContext,
  { seconds, file }: SoakOptions,
): Promise<{ samples: Sample[] }> {
  const { installation, start, folder, cleanup } = context;
  const { environment, kafka } = installation;
  const tally = new Tally();
  const simulator = await createSimulator({
    seed: 1,
    history: HISTORY,
    kafka,
    environments: [environment],
    stores: STORES,
    ordersPerMinute: ORDERS_PER_MINUTE,
    onTrouble: (error) => tally.wrong('publishing', describeError(error)),
  });
  cleanup.defer(() => simulator.stop());
  const storeIds = simulator.stores.map(({ id }) => id);
  const keys = await publishKeys(installation, storeIds);
  const services = [{ name: 'projector', ...(await start(await serviceProgram('projector'))) }];
  for (const name of ['query-1', 'query-2']) {
    services.push({ name, ...(await start({ ...(await serviceProgram('query')), name })) });
  }
  await simulator.publishHistory(() => undefined);
  await caughtUp(installation, environment, FILL_LIMIT_MS);
  const watches = services.map((service) => {
    const watch = watchService({ ...service, logFile: join(folder, `${service.name}.log`) });
    return async () => [service.name, await watch()] as const;
  });
  const sampleAt = async (minute: number): Promise<Sample> => ({
    minute: rounded(minute, 2),
    load: rounded(loadavg()[0] ?? 0, 1),
    services: Object.fromEntries(await Promise.all(watches.map((watch) => watch()))),
    ...(await figuresOfServers(installation)),
    ...tally.take(),
  });

  const over = new AbortController();
  const urls = services.slice(1).map(({ url }) => url);
  const clients = keys.map((key) => new Client(key, urls, tally));
  simulator.startTraffic();
  await sampleAt(0);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '');
  say(`under load for ${seconds} s`);
  const load = Promise.all([
    publishRest(installation, storeIds, tally, over.signal),
    askSteadily(clients, REQUESTS_PER_SECOND, over.signal),
    makeAndRevoke(installation, storeIds, urls, tally, over.signal),
    // Each waits for one kind of record.
    ...clients
      .slice(0, FEEDS.length)
      .map((client, index) => follow(client, FEEDS[index] ?? '', over.signal)),
  ]);
  const samples: Sample[] = [];
  const began = performance.now();
  const watch = async () => {
    const every = Math.min(SAMPLE_SECONDS, seconds);
    for (let next = every; next <= seconds; next += every) {
      await pause(began + next * 1_000 - performance.now(), over.signal);
      try {
        const sample = await sampleAt((performance.now() - began) / 60_000);
        samples.push(sample);
        await appendFile(file, `${JSON.stringify(sample)}\n`);
        say(lineOf(sample));
      } catch (error) {
        // One failed sample must not end hours of measuring.
        tally.wrong('a sample', describeError(error));
      }
    }
  };
  await Promise.race([watch(), load]);
  over.abort();
  await load;
  return { samples };
}

const MIB = 2 ** 20;
const WARNING = 40;
const ERROR = 50;

/** Watches a process; counters begin at the previous call. */
function watchService({
  pid,
  operations,
  logFile,
}: {
  pid: number;
  operations: string;
  logFile: string;
}) {
  let [at, cpu, logRead] = [performance.now(), 0, 0];
  return async (): Promise<ServiceFigures> => {
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    const [cpuBefore, before] = [cpu, at];
    [at, cpu] = [performance.now(), await cpuSeconds(pid)];
    const logged = await text(createReadStream(logFile, { start: logRead }));
    logRead += Buffer.byteLength(logged);
    const levels = Array.from(logged.matchAll(/^\{"level":(\d+)/gm), ([, level]) => Number(level));
    return {
      rss_mib: rounded(await residentMebibytes(pid), 1),
      handles: Number(/^nodejs_active_handles_total (\S+)$/m.exec(metrics)?.[1]),
      descriptors: (await readdir(`/proc/${pid}/fd`)).length,
      cpu_percent: rounded(((cpu - cpuBefore) / (at - before)) * 100_000, 2),
      warnings: levels.filter((level) => level === WARNING).length,
      errors: levels.filter((level) => level >= ERROR).length,
    };
  };
}

async function figuresOfServers({
  mongodb,
  redis,
}: Installation): Promise<Pick<Sample, 'mongodb' | 'redis'>> {
  const { connections } = (await mongodb.db('admin').command({ serverStatus: 1 })) as {
    connections: { current: number };
  };
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return {
    mongodb: { connections: connections.current },
    redis: {
      clients: field('connected_clients'),
      memory_mib: rounded(field('used_memory') / MIB, 2),
    },
  };
}

/**
 * Publishes events that the simulator omits, such as moved offsets and deletions: one a second, of
 * the stores in turn.
 */
async function publishRest(
  { publish }: Installation,
  storeIds: readonly string[],
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  // A store without a record has no store info.
  const kept = fc
    .sample(stream, 10)
    .flat()
    .filter(({ entity, action }) => entity !== 'store' || action !== 'deleted');
  for (let turn = 0; await pause(1_000, over); turn += 1) {
    const [event, storeId = ''] = [kept[turn % kept.length], storeIds[turn % storeIds.length]];
    if (event === undefined) return;
    const subject = event.entity === 'store' ? storeId : event.subject;
    await publish([{ ...event, storeId, subject, sequence: Date.now() }]).catch((error: unknown) =>
      tally.wrong('publishing', describeError(error)),
    );
  }
}

function lineOf({ minute, services, answers, wrong, refused }: Sample): string {
  const asked = Object.values(answers).reduce((sum, { count }) => sum + count, 0);
  const each = Object.entries(services).map(
    ([name, { rss_mib: rss, descriptors, cpu_percent: cpu }]) =>
      `${name} ${rss} MiB ${descriptors} descriptors ${cpu} %`,
  );
  return `${minute} min: ${each.join(', ')}; ${asked} answers, list p99 ${answers['list']?.p99_ms} ms; wrong ${JSON.stringify(wrong)}, refused ${refused}`;
}

export const soakBench: Bench<SoakOptions, { samples: Sample[] }> = {
  name: 'soak',
  description:
    'A light, mixed load for hours: memory, handles, connections, latency, and a verdict.',
  options: [
    secondsOption(7_200),
    new Option('--file <path>', 'where each sample is a line of JSON').default('.local/soak.jsonl'),
  ],
  // The timeouts of production; other benchmarks use longer ones.
  settings: {
    QUOTA_REQUESTS: '',
    TOKEN_LIFETIME_SECONDS: '',
    MONGODB_READ_TIMEOUT_MS: '',
    REDIS_COMMAND_TIMEOUT_MS: '',
    OVERLOAD_LATENCY_MS: '',
    KAFKA_SESSION_TIMEOUT_MS: '',
  },
  partitions: 6,
  run,
  render,
  holds: ({ samples }) => {
    const { isLongEnough, holds } = judge(samples);
    return !isLongEnough || holds;
  },
};
