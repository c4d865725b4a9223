/**
 * `npm run bench -- projector`: the projector's events per second, and processor time per event of
 * it and MongoDB.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, COLLECTIONS } from '#shared/read-models/collections.ts';
import { Databases, findLiveGeneration } from '#shared/read-models/generation.ts';
import { type Bench, grouped, numberOption, roundsOption, table } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { median } from '../median.ts';
import { cpuSeconds, peakMebibytes, pidOfMongodb } from '../process-figures.ts';
import { say } from '../say.ts';
import { serviceProgram } from '../service.ts';
import { PARTITIONS, publishOrders } from './topic.ts';

interface ProjectorOptions {
  orders: number;
  versions: number;
  rounds: number;
}

/** Processor time in milliseconds per event, and the peak of resident memory. */
interface Round {
  rate: number;
  projector: number;
  mongod: number;
  peakMib: number;
}

const POLL_MS = 50;
/** The limit without progress. */
const STUCK_MS = 120_000;

async function run(context: BenchContext, options: ProjectorOptions): Promise<string> {
  const bytes = await publishOrders(context.installation, options);
  const events = options.orders * options.versions;
  const rounds: Round[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    rounds.push(await measure(context, round, options));
    say(`round ${round}: ${JSON.stringify(rounds.at(-1))}`);
  }
  const middle = (figure: keyof Round) => median(rounds.map((round) => round[figure]));
  const [projector, mongod] = [middle('projector'), middle('mongod')];
  const titles = ['events/s', 'projector ms', 'mongod ms', 'sum ms', 'peak MiB'];
  const figures = [grouped(events), grouped(middle('rate'))];
  const times = [projector, mongod, projector + mongod].map((time) => time.toFixed(3));
  const peak = Math.max(...rounds.map(({ peakMib }) => peakMib));
  return table(
    [`events of ${Math.round(bytes / events)} bytes`, ...titles],
    [[...figures, ...times, grouped(peak)]],
  );
}

/** Runs the projector as in production, with a new database and group, over the whole topic. */
async function measure(
  { installation, start }: BenchContext,
  round: number,
  { orders, versions }: ProjectorOptions,
): Promise<Round> {
  const { mongodb, environment, config } = installation;
  // Flushes writes of the previous round.
  await mongodb.db().admin().command({ fsync: 1 });
  const prefix = `${config.namePrefix}_o${round}`;
  const program = { ...serviceProgram('projector'), name: prefix };
  const { pid, stop } = await start(program, { NAME_PREFIX: prefix });
  const databases = new Databases(prefix, mongodb);
  const database = async () => (await findLiveGeneration(databases, environment))?.db;
  const mongod = await pidOfMongodb(mongodb);
  const look = async () => {
    const checkpoints = (await database())?.collection<{ position: number }>(CHECKPOINTS);
    const found = await checkpoints?.find({ topic: changesTopic(environment) }).toArray();
    const done = found?.reduce((sum, { position }) => sum + position, 0) ?? 0;
    const [projector, ofMongod] = [await cpuSeconds(pid), await cpuSeconds(mongod)];
    return { done, at: performance.now(), projector, mongod: ofMongod };
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
      rate: (events * 1_000) / (last.at - begun.at),
      projector: ((last.projector - begun.projector) * 1_000) / events,
      mongod: ((last.mongod - begun.mongod) * 1_000) / events,
      peakMib: await peakMebibytes(pid),
    };
  } finally {
    await stop();
    await (await database())?.dropDatabase();
  }
}

export const projectorBench: Bench<ProjectorOptions> = {
  name: 'projector',
  description: 'The projector’s events per second, and processor time per event of it and MongoDB.',
  options: [
    numberOption('orders', 'orders that are created', 100_000, 1_000),
    numberOption('versions', 'events of each order; 1 measures only creations', 2),
    roundsOption(),
  ],
  partitions: PARTITIONS,
  run,
};
