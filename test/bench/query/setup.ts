/** What every measurement of queries begins with: servers, stores on both sides, filled, the two services, a token for each store. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { type Ground, layGround } from '../ground.ts';
import { serviceProgram } from '../programs.ts';
import { progressOf } from '../progress.ts';
import type { Say } from '../say.ts';
import type { RunningService } from '../service.ts';
import { fillDocuments, usualWayDatabase } from '../usual-way/documents.ts';
import { type BenchStore, chunksOf, type StoreRecord } from './stores/record.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

export interface Setup {
  ground: Ground;
  installation: Installation;
  filled: Filled;
  sides: Sides;
  tokens: ReadonlyMap<string, string>;
}

/** Sets everything up; it ends with `cleanup`. */
export async function setUp(
  stores: readonly BenchStore[],
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<Setup> {
  const ground = await layGround(say, cleanup);
  const { installation } = ground;
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  const filled = await fillStores(ground, stores, say);
  const sides = await startSides(ground);
  return { ground, installation, filled, sides, tokens: await fetchTokens(sides.ours.url, keys) };
}

const USUAL_WAY = fileURLToPath(new URL('../usual-way/main.ts', import.meta.url));

export interface Sides {
  ours: RunningService;
  usualWay: RunningService;
}

/** Starts both as processes of their own. */
export async function startSides({ start }: Pick<Ground, 'start'>): Promise<Sides> {
  return {
    ours: await start(await serviceProgram('query')),
    usualWay: await start({ name: 'usual-way', file: USUAL_WAY }),
  };
}

const CHUNK = 2_000;
const POLL_MS = 1_000;
/** The projector is given up when it applies nothing for so long. */
const STUCK_MS = 5 * 60_000;

/** What the projector had to do. */
export interface Filled {
  events: number;
  /** From the first event that was published to the last that was applied. */
  seconds: number;
}

/** The keys that were published before are applied as well: the projector must run for that. */
export async function fillStores(
  { installation, start }: Pick<Ground, 'installation' | 'start'>,
  stores: readonly BenchStore[],
  say: Say,
): Promise<Filled> {
  const { mongodb, config } = installation;
  const total = stores.reduce((sum, { size, changes }) => sum + size + changes.length, 0);
  say(`filling ${total} records on both sides`);
  const began = performance.now();
  const projector = await start(await serviceProgram('projector'));
  try {
    await publish(installation, stores, progressOf(say, 'published', total));
    await applied(installation, total, progressOf(say, 'applied', total));
  } finally {
    await projector.stop();
  }
  const seconds = (performance.now() - began) / 1_000;
  say(`filled through the projector in ${seconds.toFixed(0)} s`);
  let done = 0;
  const tell = progressOf(say, 'inserted', total);
  await fillDocuments(usualWayDatabase(mongodb, config.namePrefix), stores, (inserted) => {
    done += inserted;
    tell(done);
  });
  say(`filled in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  return { events: total, seconds };
}

async function publish(
  installation: Installation,
  stores: readonly BenchStore[],
  tell: (done: number) => void,
): Promise<void> {
  let done = 0;
  for (const { storeId, records, changes } of stores) {
    for (const chunk of chunksOf(records, CHUNK)) {
      await publishRecords(installation, storeId, chunk, 1);
      done += chunk.length;
      tell(done);
    }
    await publishRecords(installation, storeId, changes, 2);
  }
}

async function publishRecords(
  installation: Installation,
  storeId: string,
  records: readonly StoreRecord[],
  sequence: number,
): Promise<void> {
  await installation.publish(
    records.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence, data: state })),
  );
}

/** Waits until the projector has applied everything. @throws when it stands still for long. */
async function applied(
  installation: Installation,
  total: number,
  tell: (done: number) => void,
): Promise<void> {
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
