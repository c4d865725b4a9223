/**
 * Compares a rebuilt generation with the live one while projectors write. Events that only one of
 * them has applied are not differences.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyStore } from '#shared/projection/verify/store.ts';
import { COLLECTIONS, stampsIn } from '#shared/read-models/collections.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { liveOf, describeOtherRelease } from '#shared/read-models/generation.ts';
import { notFound, StoreDataError } from '#shared/errors.ts';
import type { ClientSession, Db } from 'mongodb';
import { getOrInsert } from '#shared/maps.ts';
import type { Environment } from '../servers.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import {
  type Content,
  type Contents,
  type DifferenceKind,
  differingFields,
  kindOf,
  rangesOf,
  readContents,
  scanRange,
  type Sides,
  type Wanted,
} from './records.ts';
import { inSnapshot } from '../transaction.ts';
import { hasReached, type Positions } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { tableOf } from '../output.ts';

/** Records whose whole content is compared, of each store and collection. */
const SAMPLE = 100;
/** More candidates than this are confirmed at once: there are never so many unapplied events. */
const MAX_CANDIDATES = 5_000;

/**
 * Compares a generation of this release with the live one: versions of all records and tombstones, the content of a sample; and the new
 * generation's counts with its records.
 * @throws {StoreDataError} `not_found` if no generation has this number, `generation_unsuitable` when another release made it.
 */
export async function compareWithLive(
  environment: Environment,
  number: number,
  progress?: (stores: number, of: number) => void,
) {
  const { name, topic } = environment;
  const known = await environment.generations();
  const live = liveOf(name, known);
  const { db, marker = null } = known.find((generation) => generation.number === number) ?? {};
  if (live === null || db === undefined || marker === null)
    throw notFound(`${name} has no generation ${number}`);
  const other = describeOtherRelease(marker);
  if (other !== null) {
    throw new StoreDataError('generation_unsuitable', `${other}: run the command of its release`);
  }
  const rebuilt = forSnapshots(db);
  const generations: Generations = { topic, live: forSnapshots(live.db), rebuilt };
  const counts = new Map<string, { collection: string; live: number; rebuilt: number }>();
  const candidates: Candidate[] = [];
  const differences: Differences = new Map();
  let [sampled, unsettled] = [0, 0];
  const stores = await storesOf(generations.live, rebuilt);
  for (const [index, storeId] of stores.entries()) {
    for (const range of rangesOf(storeId)) {
      const { collection, entity } = range;
      const scanned = await inSnapshot(rebuilt.client, async (session) => {
        const stamp = await stampsIn(rebuilt).findOne({ _id: storeId }, { session });
        const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
        const size = COLLECTIONS[entity] === collection ? (stamp?.counts?.[entity] ?? 0) : 0;
        const stride = Math.max(1, Math.ceil(size / SAMPLE));
        return scanRange(bothIn(generations, session), range, stride, offset);
      });
      const count = getOrInsert(counts, collection, () => ({ collection, live: 0, rebuilt: 0 }));
      count.live += scanned.expected;
      count.rebuilt += scanned.actual;
      sampled += scanned.sampled;
      candidates.push(...scanned.differing.map((record) => ({ collection, ...record })));
      if (candidates.length > MAX_CANDIDATES) {
        unsettled += await confirm(generations, candidates.splice(0), differences);
      }
    }
    const miscounted = await inSnapshot(rebuilt.client, (session) =>
      verifyStore(rebuilt, session, storeId),
    );
    for (const { what } of miscounted) note(differences, 'counts', 'counts', storeId, [what]);
    progress?.(index + 1, stores.length);
  }
  unsettled += await confirm(generations, candidates, differences);
  return {
    stores: stores.length,
    counts: [...counts.values()],
    /** Records whose whole content was compared. */
    sampled,
    /**
     * Records that the new generation has in a newer version, since the live one is not projected;
     * or that kept changing.
     */
    unsettled,
    /** Whether another projection made the live one: other content is expected. */
    other_projection: live.marker.projection_version !== marker.projection_version,
    differences: [...differences]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, difference]) => difference),
  };
}

interface Generations {
  topic: string;
  live: Db;
  rebuilt: Db;
}

function bothIn({ live, rebuilt }: Generations, session: ClientSession): Sides {
  return { expected: { db: live, session }, actual: { db: rebuilt, session } };
}

async function storesOf(...generations: Db[]): Promise<string[]> {
  const ids = await Promise.all(generations.map((db) => stampsIn(db).distinct('_id')));
  return [...new Set(ids.flat())].toSorted();
}

const POLL_MS = 250;
/** How long the other generation may take to apply an event. */
const PATIENCE_MS = 20_000;
/** Neither generation moved for so long: no event is being applied. */
const STANDSTILL_MS = 3_000;

interface Candidate extends Wanted {
  collection: string;
}

/** The contents of a record, and the positions of both generations then. */
interface Seen extends Contents {
  atLive: Positions;
  atRebuilt: Positions;
}

/**
 * Reads candidates until each is decided: a record differs if both generations passed the positions at which it was seen to differ, and
 * its contents are the same.
 * @returns how many kept changing.
 */
async function confirm(
  generations: Generations,
  candidates: readonly Candidate[],
  differences: Differences,
) {
  const { topic, live, rebuilt } = generations;
  const noteRecord = ({ collection, id }: Candidate, contents: Contents) => {
    const kind = kindOf(contents);
    const fields = kind === 'content' ? differingFields(contents.one, contents.other) : [];
    note(differences, collection, kind, id, fields);
  };
  let open = candidates.map((candidate) => ({ ...candidate, seen: null as Seen | null }));
  const end = performance.now() + PATIENCE_MS;
  let moved = { at: performance.now(), positions: '' };
  for (;;) {
    open = await inSnapshot(live.client, async (session) => {
      const atLive = await readPositions(live, topic, { session });
      const atRebuilt = await readPositions(rebuilt, topic, { session });
      const positions = JSON.stringify([[...atLive], [...atRebuilt]]);
      if (positions !== moved.positions) moved = { at: performance.now(), positions };
      const left: typeof open = [];
      for (const [collection, group] of Map.groupBy(open, (candidate) => candidate.collection)) {
        for await (const { record, ...now } of readContents(
          bothIn(generations, session),
          collection,
          group,
        )) {
          const { seen } = record;
          if (isSame(now.one, now.other)) continue;
          if (seen === null || !isSame(seen.one, now.one) || !isSame(seen.other, now.other)) {
            left.push({ ...record, seen: { ...now, atLive, atRebuilt } });
          } else if (hasReached(atRebuilt, seen.atLive) && hasReached(atLive, seen.atRebuilt)) {
            noteRecord(record, now);
          } else {
            left.push(record);
          }
        }
      }
      return left;
    });
    if (open.length === 0) return 0;
    const now = performance.now();
    if (now > end || now > moved.at + STANDSTILL_MS) break;
    await sleep(POLL_MS);
  }
  // Where one of the two is not projected, a record that the new one lacks is a difference.
  let unsettled = 0;
  for (const { seen, ...candidate } of open) {
    if (seen !== null && isBehind(seen)) noteRecord(candidate, seen);
    else unsettled += 1;
  }
  return unsettled;
}

function isSame(a: Content, b: Content): boolean {
  return differingFields(a, b).length === 0;
}

function isBehind({ one, other }: Contents): boolean {
  return other.size === 0 || Number(one.get('sequence')) >= Number(other.get('sequence'));
}

interface Difference {
  collection: string;
  /** `counts`: the new generation's counts or rank trees differ from its records. */
  kind: DifferenceKind | 'counts';
  count: number;
  fields: string[];
  examples: string[];
}

/** By collection and kind. */
type Differences = Map<string, Difference>;

type Comparison = Awaited<ReturnType<typeof compareWithLive>>;

const MAX_EXAMPLES = 5;

function note(
  differences: Differences,
  collection: string,
  kind: Difference['kind'],
  id: string,
  fields: readonly string[],
): void {
  const group = getOrInsert(differences, `${collection}/${kind}`, () => {
    return { collection, kind, count: 0, fields: [], examples: [] };
  });
  group.count += 1;
  group.fields = [...new Set([...group.fields, ...fields])];
  if (group.examples.length < MAX_EXAMPLES) group.examples.push(id);
}

/** @param accepted other content of the same versions, or all differences. */
export function isAcceptable(
  { differences }: Comparison,
  accepted: 'content' | 'all' | undefined,
): boolean {
  return accepted === 'all' || differences.every(({ kind }) => kind === accepted);
}

export function describeComparison(comparison: Comparison): string {
  const { counts, differences, sampled, stores, unsettled } = comparison;
  const records = tableOf(
    counts.filter(({ live, rebuilt }) => live + rebuilt > 0),
    [['RECORDS', 'collection'], 'live', ['NEW', 'rebuilt']],
  );
  const found =
    differences.length === 0
      ? 'no difference'
      : `differences\n${tableOf(differences, ['collection', 'kind', 'count', 'fields', 'examples'])}`;
  const why = comparison.other_projection
    ? '\nanother projection made the live one: other content is expected'
    : '';
  const moving = unsettled > 0 ? `\n${unsettled} records are newer there, or kept changing` : '';
  return `${records}\ncompared the versions of all records of ${stores} stores and the content of ${sampled}: ${found}${why}${moving}`;
}
