/** `npm run soak`: hours of light, mixed load on servers of its own, and whether anything grows meanwhile. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { createSimulator } from '#local/simulator/simulator.ts';
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import { eventually, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { writeSection } from '../docs-section.ts';
import type { LiveStore } from '../freshness/stream.ts';
import { layGround } from '../ground.ts';
import { describeMachine } from '../machine.ts';
import { rounded } from '../median.ts';
import { addShowing, atLeast, secondsOption } from '../options.ts';
import { serviceProgram } from '../programs.ts';
import { type BenchKey, publishKeys } from '../query/tokens.ts';
import { runToEnd, show, type Showing } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';
import { Client, follow, type Surroundings, Tally, Timed } from './client.ts';
import { publishRest } from './events.ts';
import { lookAtServers, ServiceWatch } from './figures.ts';
import { judge, render, type Sample, type SoakHead, type SoakOptions, type SoakRecord } from './report.ts';
import { askSteadily } from './requests.ts';
import { makeAndRevoke } from './revocations.ts';

const PARTITIONS = 6;
const QUERY_SERVICES = 2;
const SEED = 1;
/** Orders that each store has behind it. */
const HISTORY = 100;
/** Events that come of one order of the simulator, with what belongs to it. */
const EVENTS_PER_ORDER = 8;
/** Of the simulated stores so many have a client that waits, each for one kind. */
const FOLLOWED = ['order', 'customer', 'product', 'review', 'campaign', 'coupon', 'category', 'option-group'];
const FILL_LIMIT_MS = 600_000;

/** As in production, where benchmarks are patient otherwise. */
const USUAL = {
  QUOTA_REQUESTS: '',
  TOKEN_LIFETIME_SECONDS: '',
  MONGODB_READ_TIMEOUT_MS: '',
  REDIS_COMMAND_TIMEOUT_MS: '',
  OVERLOAD_LATENCY_MS: '',
  KAFKA_SESSION_TIMEOUT_MS: '',
};

/** Runs it; whatever it starts ends with `cleanup`. What it found lies in `file` from the first minute on. */
export async function runSoak(
  { file, ...options }: SoakOptions & { file: string },
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<SoakRecord> {
  const { installation, start, folder } = await layGround(say, cleanup, USUAL, { partitions: PARTITIONS });
  const head: SoakHead = {
    benchmark: 'soak',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    ...options,
  };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(head)}\n`);

  const origin = { seed: SEED, environment: installation.environment, now: Date.now(), history: HISTORY };
  const tally = new Tally();
  const simulator = await createSimulator({
    ...origin,
    kafka: installation.kafka,
    environments: [installation.environment],
    stores: options.stores,
    ordersPerMinute: (options.eventsPerSecond * 60) / EVENTS_PER_ORDER,
    onTrouble: (error) => tally.wrong('publishing', describeError(error)),
  });
  cleanup.defer(() => simulator.stop());
  const live = Array.from({ length: PARTITIONS }, (_, partition): LiveStore => {
    return { storeId: `live-${partition}`, partition, waiting: new Map() };
  });
  const storeIds = simulator.stores.map(({ id }) => id);
  const keys = await publishKeys(installation, [...storeIds, ...live.map(({ storeId }) => storeId)]);
  const services = [{ name: 'projector', ...(await start(await serviceProgram('projector'))) }];
  for (let number = 1; number <= QUERY_SERVICES; number += 1) {
    const name = `query-${number}`;
    services.push({ name, ...(await start({ ...(await serviceProgram('query')), name })) });
  }
  await eventually('there are read models', () =>
    readModels(installation).then(
      () => true,
      () => false,
    ),
  );
  await simulator.publishHistory(() => undefined);
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  const ports = {
    kafka: portOf(installation.env['KAFKA_BROKERS']),
    mongodb: portOf(installation.env['MONGODB_URI']),
    redis: portOf(installation.env['REDIS_URL']),
  };
  const watches = services.map((service) => ({
    name: service.name,
    watch: new ServiceWatch({ ...service, logFile: join(folder, `${service.name}.log`) }, ports),
  }));
  const admin = installation.kafka.admin();
  await admin.connect();
  cleanup.defer(() => admin.disconnect());
  const look = async (minute: number): Promise<Sample> => {
    const figures = await Promise.all(
      watches.map(async ({ name, watch }) => [name, await watch.look()] as const),
    );
    return {
      minute: rounded(minute, 2),
      load: rounded(loadavg()[0] ?? 0, 1),
      services: Object.fromEntries(figures),
      ...(await lookAtServers(installation, admin)),
      ...tally.take(),
    };
  };

  const over = new AbortController();
  const urls = services.slice(1).map(({ url }) => url);
  simulator.startTraffic();
  await look(0);
  say(`under load for ${options.seconds} s`);
  const load = bearLoad({
    installation,
    surroundings: { urls, tally },
    keys,
    live,
    over: over.signal,
    perSecond: options.requestsPerSecond,
    rest: publishRest(installation, { stores: simulator.stores, live, tally }, origin, over.signal),
  });
  const samples: Sample[] = [];
  const began = performance.now();
  const run = async () => {
    for (let next = options.every; next <= options.seconds; next += options.every) {
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
  await Promise.race([run(), load]);
  over.abort();
  await load;
  return { head, samples };
}

interface LoadOrder {
  installation: Installation;
  surroundings: Surroundings;
  keys: readonly BenchKey[];
  live: readonly LiveStore[];
  perSecond: number;
  rest: Promise<void>;
  over: AbortSignal;
}

/** Everything that clients do, until the signal is aborted. */
async function bearLoad(order: LoadOrder): Promise<void> {
  const { installation, surroundings, keys, live, perSecond, rest, over } = order;
  const clients = keys.map((key) => new Client(key, surroundings));
  const clientOf = (storeId: string) => clients.find(({ key }) => key.storeId === storeId);
  const simulated = clients.slice(0, clients.length - live.length);
  const following = [
    ...FOLLOWED.map((kind, index) => ({ client: simulated[index], kind, timed: undefined })),
    ...live.map((store) => ({
      client: clientOf(store.storeId),
      kind: 'order',
      timed: new Timed(store, surroundings.tally),
    })),
  ];
  await Promise.all([
    rest,
    askSteadily(simulated, perSecond, over),
    makeAndRevoke(
      installation,
      simulated.map(({ key }) => key.storeId),
      surroundings,
      over,
    ),
    ...following.map(async ({ client, kind, timed }) => {
      if (client !== undefined) await follow(client, kind, over, timed);
    }),
  ]);
}

function lineOf({ minute, services, answers, freshness, wrong, refused }: Sample): string {
  const asked = Object.values(answers).reduce((sum, { count }) => sum + count, 0);
  const each = Object.entries(services).map(
    ([name, { rss_mib: rss, descriptors, cpu_percent: cpu }]) =>
      `${name} ${rss} MiB ${descriptors} descriptors ${cpu} %`,
  );
  return `${minute} min: ${each.join(', ')}; ${asked} answers, list p99 ${answers['list']?.p99_ms} ms, freshness p99 ${freshness.p99_ms} ms; wrong ${JSON.stringify(wrong)}, refused ${JSON.stringify(refused)}`;
}

/** Of an address with or without a scheme. */
function portOf(address = ''): number {
  return Number(/:(\d+)(?=[,/]|$)/.exec(address)?.[1]);
}

export function addSoak(program: Command): void {
  const command = program
    .command('soak')
    .description('A light, mixed load for hours: memory, handles, connections, latency, and a verdict.')
    .addOption(secondsOption(7_200))
    .option('--stores <number>', 'stores at work', atLeast(1), 50)
    .option('--events-per-second <number>', 'events of all stores, about', atLeast(1), 20)
    .option('--requests-per-second <number>', 'requests of all clients', atLeast(1), 40)
    .option('--every <number>', 'seconds between two samples', atLeast(1), 60)
    .option('--file <path>', 'where each sample is a line of JSON', '.local/soak.jsonl');
  addShowing(command).action(
    async ({ json, writeDocs, ...options }: SoakOptions & { file: string } & Showing) => {
      const record = await runToEnd((cleanup) => runSoak(options, say, cleanup));
      const verdict = judge(record);
      show({ json }, { ...record.head, ...verdict }, render(record));
      if (writeDocs) await writeSection('soak', render(record));
      if (verdict.isLongEnough && !verdict.holds) process.exit(1);
    },
  );
}
