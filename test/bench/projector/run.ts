/**
 * `npm run bench -- projector`: the projector's events per second, and processor time per event of
 * it and MongoDB.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, COLLECTIONS } from '#shared/read-models/collections.ts';
import { Databases, findLiveGeneration } from '#shared/read-models/generation.ts';
import { type Bench, grouped, numberOption, roundsOption, table } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { median, rounded } from '../median.ts';
import { cpuSeconds, peakMebibytes } from '../process-figures.ts';
import { say } from '../say.ts';
import { serviceProgram, startService } from '../service.ts';
import { PARTITIONS, publishOrders } from './topic.ts';

interface ProjectorOptions {
  orders: number;
  versions: number;
  rounds: number;
}

/** Medians of the rounds; processor time in milliseconds per event. */
interface ProjectorResult {
  events: number;
  events_per_second: number;
  writer_ms: number;
  /** NaN if MongoDB does not run on this machine. */
  mongod_ms: number;
  /** Peak resident memory. */
  peak_mib: number;
  bytes_per_event: number;
}
type Round = Omit<ProjectorResult, 'events' | 'bytes_per_event'>;

const POLL_MS = 50;
/** The limit without progress. */
const STUCK_MS = 120_000;

async function run(
  context: BenchContext,
  { orders, versions, rounds }: ProjectorOptions,
): Promise<ProjectorResult> {
  const bytes = await publishOrders(context.installation, orders, versions);
  const events = orders * versions;
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const figures = await measure(context, round, { orders, versions });
    measured.push(figures);
    say(`round ${round}: ${JSON.stringify(figures)}`);
  }
  const middle = (figure: keyof Round, digits: number) =>
    rounded(median(measured.map((one) => one[figure])), digits);
  return {
    events,
    events_per_second: middle('events_per_second', 0),
    writer_ms: middle('writer_ms', 3),
    mongod_ms: middle('mongod_ms', 3),
    peak_mib: Math.max(...measured.map(({ peak_mib: peak }) => peak)),
    bytes_per_event: Math.round(bytes / events),
  };
}

/** Runs the projector as in production, with a new database and group, over the whole topic. */
async function measure(
  { installation, folder, guard }: BenchContext,
  round: number,
  { orders, versions }: Pick<ProjectorOptions, 'orders' | 'versions'>,
): Promise<Round> {
  const { mongodb, environment, config, env } = installation;
  // Flushes writes of the previous round.
  await mongodb.db().admin().command({ fsync: 1 });
  const prefix = `${config.namePrefix}_o${round}`;
  const program = { ...(await serviceProgram('projector')), name: prefix };
  const { pid, stop } = await startService({
    ...program,
    env: { ...env, NAME_PREFIX: prefix },
    folder,
    guard,
  });
  const databases = new Databases(prefix, mongodb);
  const database = async () => (await findLiveGeneration(databases, environment))?.db;
  const mongod = await mongodProcess(mongodb);
  const look = async () => {
    const checkpoints = (await database())?.collection<{ position: number }>(CHECKPOINTS);
    const found = await checkpoints?.find({ topic: changesTopic(environment) }).toArray();
    const done = found?.reduce((sum, { position }) => sum + position, 0) ?? 0;
    const mongodCpu = mongod === null ? Number.NaN : await cpuSeconds(mongod);
    return { done, at: performance.now(), writer: await cpuSeconds(pid), mongod: mongodCpu };
  };
  try {
    // The start does not count: time begins with the first written events.
    let begun = await look();
    let last = begun;
    while (last.done < orders * versions) {
      await sleep(POLL_MS);
      const now = await look();
      if (begun.done === 0) begun = now;
      if (now.done > last.done) last = now;
      else if (now.at - last.at > STUCK_MS)
        throw new Error(`nothing happens after ${now.done} events`);
    }
    const newest = await (
      await database()
    )
      ?.collection(COLLECTIONS.order)
      .countDocuments({ sequence: versions });
    if (newest !== orders)
      throw new Error(`${newest} of ${orders} orders are there in their last version`);
    const events = last.done - begun.done;
    return {
      events_per_second: (events * 1_000) / (last.at - begun.at),
      writer_ms: ((last.writer - begun.writer) * 1_000) / events,
      mongod_ms: ((last.mongod - begun.mongod) * 1_000) / events,
      peak_mib: rounded(await peakMebibytes(pid), 0),
    };
  } finally {
    await stop();
    await (await database())?.dropDatabase();
  }
}

async function mongodProcess(mongodb: MongoClient): Promise<number | null> {
  const { pid } = (await mongodb.db().admin().serverStatus()) as { pid: unknown };
  const found = Number(pid);
  // The process id of a MongoDB in a container or on another machine belongs to another process
  // here.
  const name = await readFile(`/proc/${found}/comm`, 'utf8').catch(() => '');
  return name.startsWith('mongod') ? found : null;
}

function render(result: ProjectorResult): string {
  const {
    events,
    events_per_second: rate,
    writer_ms: writer,
    mongod_ms: mongod,
    peak_mib: peak,
  } = result;
  const times = [writer, mongod, writer + mongod].map((time) => time.toFixed(3));
  return table(
    [
      `events of ${result.bytes_per_event} bytes`,
      'events/s',
      'projector ms',
      'mongod ms',
      'sum ms',
      'peak MiB',
    ],
    [[grouped(events), grouped(rate), ...times, String(peak)]],
  );
}

export const projectorBench: Bench<ProjectorOptions, ProjectorResult> = {
  name: 'projector',
  description: 'The projector’s events per second, and processor time per event of it and MongoDB.',
  options: [
    numberOption('orders', 'orders that are created', 100_000, 1_000),
    numberOption('versions', 'events of each order; 1 measures only creations', 2),
    roundsOption(3),
  ],
  partitions: PARTITIONS,
  run,
  render,
};
