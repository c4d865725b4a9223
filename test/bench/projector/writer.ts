/** What writes the topic's orders into MongoDB: our projector; each round with databases and groups of its own. */
import { readFile } from 'node:fs/promises';
import type { Db, MongoClient } from 'mongodb';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, COLLECTIONS } from '#shared/read-models/collections.ts';
import { Databases } from '#shared/read-models/databases.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Ground } from '../ground.ts';
import { serviceProgram } from '../programs.ts';
import { startService } from '../service.ts';

export interface RunningWriter {
  pid: number;
  /** How many events of each partition are written; a partition that nothing is known of yet is absent. */
  positions: () => Promise<Map<number, number>>;
  /** Checks that every order is there in its last version. @throws when not. */
  check: (orders: number) => Promise<void>;
  /** Where it wrote; `null` as long as there is nothing. */
  database: () => Promise<Db | null>;
  stop: () => Promise<void>;
}

/** Starts our projector as it runs in production on an empty database, at the topic's beginning. */
export async function startProjector(
  { installation, folder, guard }: Ground,
  round: number,
): Promise<RunningWriter> {
  const { mongodb, environment, config } = installation;
  const prefix = `${config.namePrefix}_o${round}`;
  const env = { ...installation.env, NAME_PREFIX: prefix };
  const program = { ...(await serviceProgram('projector')), name: prefix };
  const service = await startService({ ...program, env, folder, guard });
  const databases = new Databases(prefix, mongodb);
  const database = async () => (await findLiveGeneration(databases, environment))?.db ?? null;
  return {
    pid: service.pid,
    stop: service.stop,
    database,
    positions: async () => {
      const checkpoints = await (
        await database()
      )
        ?.collection<{ partition: number; position: number }>(CHECKPOINTS)
        .find({ topic: changesTopic(environment) })
        .toArray();
      return new Map(checkpoints?.map(({ partition, position }) => [partition, position]));
    },
    check: async (orders) => {
      const found = await (await database())?.collection(COLLECTIONS.order).countDocuments({ sequence: 2 });
      if (found !== orders) throw new Error(`${found} of ${orders} orders`);
    },
  };
}

export async function mongodProcess(mongodb: MongoClient): Promise<number | null> {
  const { pid } = (await mongodb.db().admin().serverStatus()) as { pid: unknown };
  const found = Number(pid);
  // In a container, or elsewhere, the number is another process's here.
  const name = await readFile(`/proc/${found}/comm`, 'utf8').catch(() => '');
  return name.startsWith('mongod') ? found : null;
}
