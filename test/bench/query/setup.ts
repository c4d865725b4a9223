/**
 * The set-up of query benchmarks: filled stores on both sides, the two services, and a token for
 * each store.
 */
import { fileURLToPath } from 'node:url';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import type { BenchContext } from '../context.ts';
import { progressOf, say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';
import { fillDocuments, usualWayDatabase } from '../usual-way/documents.ts';
import { type BenchStore, chunksOf } from './stores.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

export interface Setup {
  context: BenchContext;
  sides: Sides;
  tokens: ReadonlyMap<string, string>;
}

/** Fills the stores, and starts both sides. */
export async function setUp(context: BenchContext, stores: readonly BenchStore[]): Promise<Setup> {
  const keys = await publishKeys(
    context.installation,
    stores.map(({ storeId }) => storeId),
  );
  await fillStores(context, stores);
  const sides = {
    ours: await context.start(await serviceProgram('query')),
    usualWay: await context.start({ name: 'usual-way', file: USUAL_WAY }),
  };
  return { context, sides, tokens: await fetchTokens(sides.ours.url, keys) };
}

const USUAL_WAY = fileURLToPath(new URL('../usual-way/main.ts', import.meta.url));

export interface Sides {
  ours: RunningService;
  usualWay: RunningService;
}

const CHUNK = 2_000;
/** The limit for millions of records. */
const APPLY_LIMIT_MS = 60 * 60_000;

/** Runs a projector, which also applies the published keys. */
export async function fillStores(
  { installation, start }: Pick<BenchContext, 'installation' | 'start'>,
  stores: readonly BenchStore[],
): Promise<void> {
  const { mongodb, config } = installation;
  const total = stores.reduce((sum, { size }) => sum + size, 0);
  say(`filling ${total} records on both sides`);
  const projector = await start(await serviceProgram('projector'));
  try {
    await publish(installation, stores, progressOf('published', total));
    await caughtUp(installation, installation.environment, APPLY_LIMIT_MS);
  } finally {
    await projector.stop();
  }
  const tell = progressOf('inserted', total);
  let done = 0;
  await fillDocuments(usualWayDatabase(mongodb, config.namePrefix), stores, (inserted) => {
    done += inserted;
    tell(done);
  });
  say('filled');
}

async function publish(
  installation: Installation,
  stores: readonly BenchStore[],
  tell: (done: number) => void,
): Promise<void> {
  let done = 0;
  for (const { storeId, records } of stores) {
    for (const chunk of chunksOf(records, CHUNK)) {
      await installation.publish(
        chunk.map(({ entity, id, state }) => ({
          entity,
          storeId,
          subject: id,
          sequence: 1,
          data: state,
        })),
      );
      done += chunk.length;
      tell(done);
    }
  }
}
