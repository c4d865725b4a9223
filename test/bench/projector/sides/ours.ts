/** Our projector as it runs in production, and without rank trees; each round with databases and groups of its own. */
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, COLLECTIONS } from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Ground } from '../../ground.ts';
import { PROJECTOR_FLAGS } from '../../projector-flags.ts';
import { startService } from '../../service.ts';
import type { Side } from './side.ts';

const FILES = {
  ours: { tag: 'o', file: new URL('../../../../services/projector/main.ts', import.meta.url).pathname },
  'without trees': { tag: 'w', file: new URL('../without-trees.ts', import.meta.url).pathname },
} as const;

export function ourSide({ installation, folder, guard }: Ground, name: keyof typeof FILES): Side {
  const { mongodb, environment, config } = installation;
  return {
    name,
    start: async (round) => {
      const { tag, file } = FILES[name];
      const prefix = `${config.namePrefix}_${tag}${round}`;
      const env = { ...installation.env, NAME_PREFIX: prefix };
      const service = await startService({
        name: prefix,
        file,
        env,
        flags: PROJECTOR_FLAGS,
        folder,
        guard,
      });
      const database = async () => (await findLiveGeneration(mongodb, prefix, environment))?.db ?? null;
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
