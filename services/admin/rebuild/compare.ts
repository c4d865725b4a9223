/** Compares a rebuilt generation with the live one, beside projectors at work. */
import { verifyStore } from '#shared/projection/ranking/verify.ts';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { rangesOf } from '../comparison/ranges.ts';
import { scanRange } from '../comparison/scan.ts';
import { inSnapshot } from '../comparison/snapshot.ts';
import { type Comparison, DifferenceList } from './comparison.ts';
import { settle, type Suspect } from './settle.ts';

/** Records whose whole content is compared, of each store and collection. */
const SAMPLE = 100;
/** Of more suspects nobody waits whether events are on their way: those are never that many. */
const MOST_SUSPECTS = 5_000;

export interface CompareOptions {
  environment: string;
  live: Generation;
  rebuilt: Generation;
  progress?: (stores: number, of: number) => void;
  /** How long to wait for events that are on their way. */
  patienceMs?: number;
}

/** Compares versions of all records and tombstones, the content of a sample, and the new one's counts with its records. */
export async function compareGenerations(given: CompareOptions): Promise<Comparison> {
  const options = { ...given, live: inSnapshots(given.live), rebuilt: inSnapshots(given.rebuilt) };
  const { live, rebuilt, progress } = options;
  const differences = new DifferenceList();
  const counts = new Map<string, { live: number; rebuilt: number }>();
  const suspects: Suspect[] = [];
  let sampled = 0;
  let unsettled = 0;
  const stores = await storesOf(live, rebuilt);
  for (const [index, storeId] of stores.entries()) {
    for (const range of rangesOf(storeId)) {
      const { scanned, offset } = await inSnapshot(live.db.client, async (session) => {
        const stamp = await rebuilt.db.collection<Stamp>(STAMPS).findOne({ _id: storeId }, { session });
        const present = stamp?.timezone_offset ?? DEFAULT_OFFSET;
        const stride = strideIn(range.collection, stamp);
        return {
          offset: present,
          scanned: await scanRange({ db: live.db, session }, { db: rebuilt.db, session }, range, {
            stride,
            offset: present,
          }),
        };
      });
      const { collection } = range;
      const count = counts.get(collection) ?? { live: 0, rebuilt: 0 };
      counts.set(collection, {
        live: count.live + scanned.expected,
        rebuilt: count.rebuilt + scanned.actual,
      });
      sampled += scanned.sampled;
      suspects.push(...scanned.differing.map((id) => ({ collection, id, offset })));
      if (suspects.length > MOST_SUSPECTS) {
        unsettled += await settle(options, suspects.splice(0), differences);
      }
    }
    await verifyCounts(rebuilt, storeId, differences);
    progress?.(index + 1, stores.length);
  }
  unsettled += await settle(options, suspects, differences);
  return {
    stores: stores.length,
    counts: [...counts].map(([collection, count]) => ({ collection, ...count })),
    sampled,
    differences: differences.all,
    unsettled,
    isOtherProjection: live.marker.projection_version !== rebuilt.marker.projection_version,
  };
}

function inSnapshots({ marker, db }: Generation): Generation {
  return { marker, db: forSnapshots(db) };
}

/** The distance between two records whose whole content is compared. */
function strideIn(collection: string, stamp: Stamp | null): number {
  // The version is all that a tombstone has.
  if (collection === TOMBSTONES) return Infinity;
  const entity = ENTITY_NAMES.find((name) => COLLECTIONS[name] === collection);
  const size = entity === undefined ? 0 : (stamp?.counts?.[entity] ?? 0);
  return Math.max(1, Math.ceil(size / SAMPLE));
}

async function storesOf(...generations: Generation[]): Promise<string[]> {
  const ids = await Promise.all(generations.map(({ db }) => db.collection<Stamp>(STAMPS).distinct('_id')));
  return [...new Set(ids.flat())].toSorted();
}

async function verifyCounts({ db }: Generation, storeId: string, differences: DifferenceList): Promise<void> {
  const found = await inSnapshot(db.client, (session) => verifyStore(db, session, storeId));
  for (const { what } of found) differences.add('counts', 'counts', storeId, [what]);
}
