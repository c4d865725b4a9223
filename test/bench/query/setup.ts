/**
 * The set-up of query benchmarks: filled stores on both sides, the two services, and a token for
 * each store.
 */
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import type { BenchContext } from '../context.ts';
import { progressOf, say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';
import { fillDocuments, usualWayDatabase } from '../usual-way/documents.ts';
import { type BenchStore, chunksOf, type StoreRecord } from './stores.ts';
import { fetchTokens, publishKeys } from '#test/tokens.ts';

export interface Setup {
  sides: { ours: RunningService; usualWay: RunningService };
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
    ours: await context.start(serviceProgram('query')),
    usualWay: await context.start(USUAL_WAY),
  };
  return { sides, tokens: await fetchTokens(sides.ours.url, keys) };
}

const { pathname } = new URL('../usual-way/main.ts', import.meta.url);
const USUAL_WAY = { name: 'usual-way', words: ['node', pathname] };
const CHUNK = 2_000;
/** The limit for millions of records. */
const APPLY_LIMIT_MS = 60 * 60_000;

/** Runs a projector, which also applies the published keys. */
async function fillStores(
  { installation, start }: BenchContext,
  stores: readonly BenchStore[],
): Promise<void> {
  const { mongodb, config } = installation;
  const total = stores.reduce((sum, { size }) => sum + size, 0);
  say(`filling ${total} records on both sides`);
  const counted = (what: string) => {
    const tell = progressOf(what, total);
    let done = 0;
    return (more: number) => tell((done += more));
  };
  const projector = await start(serviceProgram('projector'));
  try {
    const published = counted('published');
    for (const { storeId, records } of stores)
      await publishRecords(installation, storeId, records, published);
    await caughtUp(installation, installation.environment, APPLY_LIMIT_MS);
  } finally {
    await projector.stop();
  }
  await fillDocuments(usualWayDatabase(mongodb, config.namePrefix), stores, counted('inserted'));
  say('filled');
}

/** Publishes a store's records; calls `published` for every chunk. */
export async function publishRecords(
  { publish }: Installation,
  storeId: string,
  records: Iterable<Pick<StoreRecord, 'entity' | 'id' | 'state'>>,
  published: (records: number) => void = () => undefined,
): Promise<void> {
  for (const chunk of chunksOf(records, CHUNK)) {
    await publish(
      chunk.map(({ entity, id, state }) => {
        return { entity, storeId, subject: id, sequence: 1, data: state };
      }),
    );
    published(chunk.length);
  }
}
