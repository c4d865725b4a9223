/** `npm run soak`: hours of light, mixed load on servers of its own, and whether anything grows meanwhile. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { Option } from 'commander';
import { createSimulator } from '#local/simulator/simulator.ts';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import { caughtUp } from '#test/read-models.ts';
import { type Bench, numberOption, secondsOption } from '../frame.ts';
import type { Ground } from '../ground.ts';
import { rounded } from '../median.ts';
import { serviceProgram } from '../service.ts';
import { publishKeys } from '../query/tokens.ts';
import { say } from '../say.ts';
import { Client, follow, Tally } from './client.ts';
import { publishRest } from './events.ts';
import { lookAtServers, watchService } from './figures.ts';
import { judge, render, type Sample, type SoakOptions } from './report.ts';
import { askSteadily } from './requests.ts';
import { makeAndRevoke } from './revocations.ts';

const PARTITIONS = 6;
const SEED = 1;
/** Orders that each store has behind it. */
const HISTORY = 100;
/** Events that come of one order of the simulator, with what belongs to it. */
const EVENTS_PER_ORDER = 8;
/** Of the simulated stores so many have a client that waits, each for one kind. */
const FOLLOWED = ['order', 'customer', 'product', 'review', 'campaign', 'coupon', 'category', 'option-group'];
const FILL_LIMIT_MS = 600_000;

/** Runs it; what it found lies in the file from the first minute on. */
async function run(ground: Ground, options: SoakOptions): Promise<SoakOptions & { samples: Sample[] }> {
  const { installation, start, folder, cleanup } = ground;
  const { environment, kafka, env } = installation;
  const { file, every, seconds } = options;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(options)}\n`);
  const tally = new Tally();
  const simulator = await createSimulator({
    seed: SEED,
    history: HISTORY,
    kafka,
    environments: [environment],
    stores: options.stores,
    ordersPerMinute: (options.eventsPerSecond * 60) / EVENTS_PER_ORDER,
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
  const ports = ['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL'].map((name) => portOf(env[name]));
  const watches = services.map((service) => {
    const watch = watchService({ ...service, logFile: join(folder, `${service.name}.log`) }, ports);
    return async () => [service.name, await watch()] as const;
  });
  const look = async (minute: number): Promise<Sample> => ({
    minute: rounded(minute, 2),
    load: rounded(loadavg()[0] ?? 0, 1),
    services: Object.fromEntries(await Promise.all(watches.map((watch) => watch()))),
    ...(await lookAtServers(installation)),
    ...tally.take(),
  });

  const over = new AbortController();
  const surroundings = { urls: services.slice(1).map(({ url }) => url), tally };
  const clients = keys.map((key) => new Client(key, surroundings));
  simulator.startTraffic();
  await look(0);
  say(`under load for ${seconds} s`);
  // Everything that clients do, until it is over.
  const load = Promise.all([
    publishRest(installation, storeIds, tally, over.signal),
    askSteadily(clients, options.requestsPerSecond, over.signal),
    makeAndRevoke(installation, storeIds, surroundings, over.signal),
    ...FOLLOWED.map(async (kind, index) => {
      const client = clients[index];
      if (client !== undefined) await follow(client, kind, over.signal);
    }),
  ]);
  const samples: Sample[] = [];
  const began = performance.now();
  const watch = async () => {
    for (let next = every; next <= seconds; next += every) {
      await pause(began + next * 1_000 - performance.now(), over.signal);
      try {
        const sample = await look((performance.now() - began) / 60_000);
        samples.push(sample);
        await appendFile(file, `${JSON.stringify(sample)}\n`);
        say(lineOf(sample));
      } catch (error) {
        // Hours of measuring do not end because a server was asked in a bad moment.
        tally.wrong('a sample', describeError(error));
      }
    }
  };
  await Promise.race([watch(), load]);
  over.abort();
  await load;
  return { ...options, samples };
}

function lineOf({ minute, services, answers, wrong, refused }: Sample): string {
  const asked = Object.values(answers).reduce((sum, { count }) => sum + count, 0);
  const each = Object.entries(services).map(
    ([name, { rss_mib: rss, descriptors, cpu_percent: cpu }]) =>
      `${name} ${rss} MiB ${descriptors} descriptors ${cpu} %`,
  );
  return `${minute} min: ${each.join(', ')}; ${asked} answers, list p99 ${answers['list']?.p99_ms} ms; wrong ${JSON.stringify(wrong)}, refused ${JSON.stringify(refused)}`;
}

/** Of an address with or without a scheme. */
function portOf(address = ''): number {
  return Number(/:(\d+)(?=[,/]|$)/.exec(address)?.[1]);
}

export const soakBench: Bench<SoakOptions, SoakOptions & { samples: Sample[] }> = {
  name: 'soak',
  description: 'A light, mixed load for hours: memory, handles, connections, latency, and a verdict.',
  options: [
    secondsOption(7_200),
    numberOption('stores', 'stores at work', 50),
    numberOption('events-per-second', 'events of all stores, about', 20),
    numberOption('requests-per-second', 'requests of all clients', 40),
    numberOption('every', 'seconds between two samples', 60),
    new Option('--file <path>', 'where each sample is a line of JSON').default('.local/soak.jsonl'),
  ],
  // As in production, where benchmarks are patient otherwise.
  settings: {
    QUOTA_REQUESTS: '',
    TOKEN_LIFETIME_SECONDS: '',
    MONGODB_READ_TIMEOUT_MS: '',
    REDIS_COMMAND_TIMEOUT_MS: '',
    OVERLOAD_LATENCY_MS: '',
    KAFKA_SESSION_TIMEOUT_MS: '',
  },
  partitions: PARTITIONS,
  run,
  render,
  holds: ({ samples }) => {
    const { isLongEnough, holds } = judge(samples);
    return !isLongEnough || holds;
  },
};
