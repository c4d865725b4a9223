/** What every measurement of queries begins with: servers, stores on both sides, filled, the two services, a token for each store. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import type { Ground } from '../ground.ts';
import { progressOf, say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';
import { fillDocuments, usualWayDatabase } from '../usual-way/documents.ts';
import { type BenchStore, chunksOf } from './stores.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

export interface Setup {
  ground: Ground;
  sides: Sides;
  tokens: ReadonlyMap<string, string>;
}

/** Fills the stores, and starts both sides. */
export async function setUp(ground: Ground, stores: readonly BenchStore[]): Promise<Setup> {
  const keys = await publishKeys(
    ground.installation,
    stores.map(({ storeId }) => storeId),
  );
  await fillStores(ground, stores);
  const sides = {
    ours: await ground.start(await serviceProgram('query')),
    usualWay: await ground.start({ name: 'usual-way', file: USUAL_WAY }),
  };
  return { ground, sides, tokens: await fetchTokens(sides.ours.url, keys) };
}

const USUAL_WAY = fileURLToPath(new URL('../usual-way/main.ts', import.meta.url));

export interface Sides {
  ours: RunningService;
  usualWay: RunningService;
}

const CHUNK = 2_000;
const POLL_MS = 1_000;
/** The projector is given up when it applies nothing for so long. */
const STUCK_MS = 5 * 60_000;

/** The keys that were published before are applied as well: the projector must run for that. */
export async function fillStores(
  { installation, start }: Pick<Ground, 'installation' | 'start'>,
  stores: readonly BenchStore[],
): Promise<void> {
  const { mongodb, config } = installation;
  const total = stores.reduce((sum, { size }) => sum + size, 0);
  say(`filling ${total} records on both sides`);
  const projector = await start(await serviceProgram('projector'));
  try {
    await publish(installation, stores, progressOf('published', total));
    await applied(installation, total, progressOf('applied', total));
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
        chunk.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
      );
      done += chunk.length;
      tell(done);
    }
  }
}

/** Waits until the projector has applied everything. @throws when it stands still for long. */
async function applied(installation: Installation, total: number, tell: (done: number) => void): Promise<void> {
  let before = -1;
  let movedAt = Date.now();
  for (;;) {
    const done = await positions(installation);
    if (done >= total) return caughtUp(installation);
    if (done > before) {
      before = done;
      movedAt = Date.now();
    }
    if (Date.now() - movedAt > STUCK_MS) throw new Error(`the projector stands still at ${done} of ${total}`);
    tell(done);
    await sleep(POLL_MS);
  }
}

/** How many events the checkpoints say are applied. */
async function positions(installation: Installation): Promise<number> {
  const db = await readModels(installation).catch(() => null);
  const topic = changesTopic(installation.environment);
  const checkpoints = await db?.collection<{ position: number }>(CHECKPOINTS).find({ topic }).toArray();
  return checkpoints?.reduce((sum, { position }) => sum + position, 0) ?? 0;
}
