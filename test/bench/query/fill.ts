/** Fills both sides with the same stores: ours through Kafka and the projector, the usual way by inserts. */
import { join } from 'node:path';
import type { Guard } from '#local/stack/program/guard.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import type { Say } from '../say.ts';
import { startService } from '../service.ts';
import { usualWayDatabase } from '../usual-way/database.ts';
import { fillDocuments } from '../usual-way/documents.ts';
import type { BenchStore } from './stores/record.ts';

const PROJECTOR = join(import.meta.dirname, '../../../services/projector/main.ts');
const FILL_LIMIT_MS = 15 * 60_000;

/** The keys that were published before are applied as well: the projector must run for that. */
export async function fillStores(
  installation: Installation,
  stores: readonly BenchStore[],
  folder: string,
  guard: Guard,
  say: Say,
): Promise<void> {
  const began = performance.now();
  const { env, mongodb, config } = installation;
  const projector = await startService({ name: 'projector', file: PROJECTOR, env, folder, guard });
  try {
    for (const { storeId, records } of stores) {
      await installation.publish(
        records.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
      );
    }
    await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  } finally {
    await projector.stop();
  }
  await fillDocuments(usualWayDatabase(mongodb, config.namePrefix), stores);
  say(`filled in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
}
