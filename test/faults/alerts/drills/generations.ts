/**
 * Read models that have to be built anew, and a rebuild that an index of another keeps from
 * beginning.
 */
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, INDEXES } from '#shared/read-models/collections.ts';
import { pointersIn } from '#shared/read-models/generation.ts';
import { makeTopicAnew } from '#test/topics.ts';
import { runCommand, runJson } from '../../../services/admin/run-command.ts';
import type { Drill } from '../drill.ts';
import type { Watched } from '../watched.ts';

/** Rebuilds, and drops what is kept. */
async function rebuild({ installation, run }: Watched): Promise<void> {
  await run('rebuild', '--accept', 'all');
  type Listed = { generations: { number: number; state: string }[] };
  const { generations } = await runJson<Listed>(installation.env, 'generations list');
  for (const { number, state } of generations)
    if (state === 'kept') await run('generations', 'drop', String(number), '--yes');
}

export const GENERATIONS: readonly Drill[] = [
  {
    name: 'the log is another one, and the read models are built anew from it',
    alerts: ['StoreDataPartitionStopped'],
    async cause(watched) {
      const { installation } = watched;
      await watched.orders(5);
      await watched.works();
      await makeTopicAnew(installation.kafka, changesTopic(installation.environment));
      return () => rebuild(watched);
    },
  },
  {
    name: 'a new generation has an index of another, which is removed',
    alerts: ['StoreDataEnvironmentStopped'],
    async cause(watched) {
      const { installation, projector } = watched;
      const { databases, environment } = installation;
      const pointer = await pointersIn(databases.control).findOne({ _id: environment });
      const next = Math.max(pointer?.last ?? 0, pointer?.live ?? 0) + 1;
      const orders = databases.generation(environment, next).collection(COLLECTIONS.order);
      const { name = '' } = INDEXES[COLLECTIONS.order]?.[0] ?? {};
      await orders.createIndex({ other: 1 }, { name });
      const refused = runCommand(installation.env, 'rebuild');
      return async () => {
        await projector.logged(({ msg }) => msg?.startsWith('environment stopped') === true);
        await orders.dropIndex(name);
        await refused;
        await rebuild(watched);
      };
    },
  },
];
