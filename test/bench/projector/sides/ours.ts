/** Our projector as it runs in production, and without rank trees; each round with databases and groups of its own. */
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, COLLECTIONS } from '#shared/read-models/collections.ts';
import { Databases } from '#shared/read-models/databases.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Ground } from '../../ground.ts';
import { serviceProgram } from '../../programs.ts';
import { startService } from '../../service.ts';
import type { Side } from './side.ts';

/** What names of a round begin with, and the file that runs in place of the service's own. */
const KINDS: Record<'ours' | 'without trees', { tag: string; file?: string }> = {
  ours: { tag: 'o' },
  'without trees': { tag: 'w', file: new URL('../without-trees.ts', import.meta.url).pathname },
};

export function ourSide({ installation, folder, guard }: Ground, name: keyof typeof KINDS): Side {
  const { mongodb, environment, config } = installation;
  return {
    name,
    start: async (round) => {
      const { tag, ...file } = KINDS[name];
      const prefix = `${config.namePrefix}_${tag}${round}`;
      const env = { ...installation.env, NAME_PREFIX: prefix };
      const program = { ...(await serviceProgram('projector')), ...file, name: prefix };
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
          const found = await (
            await database()
          )
            ?.collection(COLLECTIONS.order)
            .countDocuments({ sequence: 2 });
          if (found !== orders) throw new Error(`${name}: ${found} of ${orders} orders`);
        },
      };
    },
  };
}
