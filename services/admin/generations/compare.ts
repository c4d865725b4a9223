/**
 * Compares a rebuilt generation with the live one while projectors work. Events that only one of them has applied yet are no
 * differences.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyStore } from '#shared/projection/verify/store.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { COLLECTIONS, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { findGenerations, liveOf } from '#shared/read-models/generation.ts';
import { notFound, StoreDataError } from '#shared/errors.ts';
import type { Db } from 'mongodb';
import type { EnvironmentServers } from './flip.ts';
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
  type Wanted,
} from '../comparison.ts';
import { inSnapshot } from '../transaction.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { hasReached, type Positions } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { tableOf } from '../output/print.ts';

/** Records whose whole content is compared, of each store and collection. */
const SAMPLE = 100;
/** More candidates than this are confirmed at once: events on their way are never that many. */
const MAX_CANDIDATES = 5_000;

/**
 * Compares a generation of this release with the live one: versions of all records and tombstones, the content of a sample, and the new
 * one's counts with its records.
 * @throws {StoreDataError} `not_found` where there is none, `generation_unsuitable` when another release made it.
 */
export async function compareWithLive(
  { environment, databases, projectionVersion }: EnvironmentServers,
  number: number,
  progress?: (stores: number, of: number) => void,
): Promise<Comparison> {
  const generations = await findGenerations(databases, environment);
  const live = liveOf(environment, generations);
  const found = generations.find((generation) => generation.number === number);
  const version = found?.marker?.projection_version;
  if (live === null || found === undefined || version === undefined) {
    throw notFound(`${environment} has no generation ${number}`);
  }
  if (version !== projectionVersion) {
    throw new StoreDataError(
      'generation_unsuitable',
      `generation ${number} of ${environment} has projection version ${version}, this release compares ${projectionVersion}: run the command of its release`,
    );
  }
  const sides: Sides = { environment, live: forSnapshots(live.db), rebuilt: forSnapshots(found.db) };
  const { rebuilt } = sides;
  const differences = new DifferenceList();
  const counts = new Map<string, { live: number; rebuilt: number }>();
  const candidates: Candidate[] = [];
  let sampled = 0;
  let unsettled = 0;
  const stores = await storesOf(sides.live, rebuilt);
  for (const [index, storeId] of stores.entries()) {
    for (const range of rangesOf(storeId)) {
      const { collection } = range;
      const { scanned, offset } = await inSnapshot(rebuilt.client, async (session) => {
        const stamp = await rebuilt.collection<Stamp>(STAMPS).findOne({ _id: storeId }, { session });
        const present = stamp?.timezone_offset ?? DEFAULT_OFFSET;
        const options = { stride: strideIn(collection, stamp), offset: present };
        const compared = await scanRange(
          { db: sides.live, session },
          { db: rebuilt, session },
          range,
          options,
        );
        return { offset: present, scanned: compared };
      });
      const count = counts.get(collection) ?? { live: 0, rebuilt: 0 };
      counts.set(collection, {
        live: count.live + scanned.expected,
        rebuilt: count.rebuilt + scanned.actual,
      });
      sampled += scanned.sampled;
      candidates.push(...scanned.differing.map((id) => ({ collection, id, offset })));
      if (candidates.length > MAX_CANDIDATES) {
        unsettled += await confirm(sides, candidates.splice(0), differences);
      }
    }
    const miscounted = await inSnapshot(rebuilt.client, (session) => verifyStore(rebuilt, session, storeId));
    for (const { what } of miscounted) differences.add('counts', 'counts', storeId, [what]);
    progress?.(index + 1, stores.length);
  }
  unsettled += await confirm(sides, candidates, differences);
  return {
    stores: stores.length,
    counts: [...counts].map(([collection, count]) => ({ collection, ...count })),
    sampled,
    differences: differences.all,
    unsettled,
    isOtherProjection: live.marker.projection_version !== version,
  };
}

/** The two that are compared, as they are read in snapshots. */
interface Sides {
  environment: string;
  live: Db;
  rebuilt: Db;
}

/** The distance between two records whose whole content is compared. */
function strideIn(collection: string, stamp: Stamp | null): number {
  // The version is all that a tombstone has.
  if (collection === TOMBSTONES) return Infinity;
  const entity = ENTITY_NAMES.find((name) => COLLECTIONS[name] === collection);
  const size = entity === undefined ? 0 : (stamp?.counts?.[entity] ?? 0);
  return Math.max(1, Math.ceil(size / SAMPLE));
}

async function storesOf(...generations: Db[]): Promise<string[]> {
  const ids = await Promise.all(generations.map((db) => db.collection<Stamp>(STAMPS).distinct('_id')));
  return [...new Set(ids.flat())].toSorted();
}

const POLL_MS = 250;
/** How long events may be on their way. */
const PATIENCE_MS = 20_000;
/** Where neither generation moves for this long, nothing is on its way. */
const STANDSTILL_MS = 3_000;

interface Candidate extends Wanted {
  collection: string;
}

/** What a record showed, and how far both were then. */
interface Seen extends Contents {
  atLive: Positions;
  atRebuilt: Positions;
}

/**
 * Reads candidates until each is confirmed or not: a record differs only if both generations continued past the positions at which it was
 * seen to differ, and neither shows anything new.
 * @returns how many changed all the time.
 */
async function confirm(
  { environment, live, rebuilt }: Sides,
  candidates: readonly Candidate[],
  differences: DifferenceList,
): Promise<number> {
  const note = ({ collection, id }: Candidate, contents: Contents) => {
    const kind = kindOf(contents);
    const fields = kind === 'content' ? differingFields(contents.one, contents.other) : [];
    differences.add(collection, kind, id, fields);
  };
  let open = candidates.map((candidate) => ({ ...candidate, seen: null as Seen | null }));
  const topic = changesTopic(environment);
  const end = performance.now() + PATIENCE_MS;
  let moved = { at: performance.now(), positions: '' };
  for (;;) {
    open = await inSnapshot(live.client, async (session) => {
      const atLive = await readPositions(live, topic, { session });
      const atRebuilt = await readPositions(rebuilt, topic, { session });
      const positions = JSON.stringify([[...atLive], [...atRebuilt]]);
      if (positions !== moved.positions) moved = { at: performance.now(), positions };
      const left: typeof open = [];
      const sides = [
        { db: live, session },
        { db: rebuilt, session },
      ] as const;
      for (const [collection, group] of Map.groupBy(open, (candidate) => candidate.collection)) {
        for await (const { record, ...now } of readContents(...sides, collection, group)) {
          const { seen } = record;
          if (isSame(now.one, now.other)) continue;
          if (seen === null || !isSame(seen.one, now.one) || !isSame(seen.other, now.other)) {
            left.push({ ...record, seen: { ...now, atLive, atRebuilt } });
          } else if (hasReached(atRebuilt, seen.atLive) && hasReached(atLive, seen.atRebuilt)) {
            note(record, now);
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
  // Where one of the two is no longer projected, what the new one lacks is lacking.
  let unsettled = 0;
  for (const { seen, ...candidate } of open) {
    if (seen !== null && isBehind(seen)) note(candidate, seen);
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

/** Differences of one kind in one collection. */
export interface Difference {
  collection: string;
  /** `counts`: the new one's own counts or rank trees are not what its records say. */
  kind: DifferenceKind | 'counts';
  count: number;
  fields: string[];
  /** Ids of the first records. */
  examples: string[];
}

export interface Comparison {
  stores: number;
  /** Records by collection. */
  counts: { collection: string; live: number; rebuilt: number }[];
  /** How many records were compared with all that they answer. */
  sampled: number;
  differences: Difference[];
  /** Records of which the live one has no newer version, since it is not projected; or that changed all the time. */
  unsettled: number;
  /** Whether another projection made the live one, so that other content is to be expected. */
  isOtherProjection: boolean;
}

const MAX_EXAMPLES = 5;

/** Gathers differences by collection and kind. */
class DifferenceList {
  readonly #groups = new Map<string, Difference>();

  add(collection: string, kind: Difference['kind'], id: string, fields: readonly string[] = []): void {
    const name = `${collection}/${kind}`;
    const group = this.#groups.get(name) ?? { collection, kind, count: 0, fields: [], examples: [] };
    group.count += 1;
    group.fields = [...new Set([...group.fields, ...fields])];
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(id);
    this.#groups.set(name, group);
  }

  /** By collection and kind. */
  get all(): Difference[] {
    return [...this.#groups]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, difference]) => difference);
  }
}

/** What an operator accepts: nothing, other content of the same versions, or whatever there is. */
export type Acceptance = 'nothing' | 'content' | 'all';

/** The differences that keep a generation from becoming live. */
export function unacceptable({ differences }: Comparison, accepted: Acceptance): Difference[] {
  if (accepted === 'all') return [];
  return differences.filter(({ kind }) => accepted !== 'content' || kind !== 'content');
}

/** In words, for a terminal. */
export function describeComparison(comparison: Comparison): string {
  const { counts, differences, sampled, stores, unsettled } = comparison;
  const table = tableOf(
    counts.filter(({ live, rebuilt }) => live + rebuilt > 0),
    [
      ['RECORDS', 'collection'],
      ['LIVE', 'live', 'right'],
      ['NEW', 'rebuilt', 'right'],
    ],
  );
  const lines = differences.map((difference) => describeDifference(comparison, difference));
  const moving = unsettled > 0 ? `\n${unsettled} records are newer there, or changed all the time` : '';
  return `${table}\ncompared the versions of all records of ${stores} stores and the content of ${sampled}: ${
    lines.length === 0 ? 'no difference' : `\n${lines.join('\n')}`
  }${moving}`;
}

const KINDS: Record<Difference['kind'], string> = {
  missing: 'missing in the new generation',
  added: 'only in the new generation',
  version: 'another version',
  content: 'other content of the same version',
  counts: 'counts or trees that are not what the records say',
};

function describeDifference(
  { isOtherProjection }: Comparison,
  { collection, kind, count, fields, examples }: Difference,
): string {
  const why = kind === 'content' && isOtherProjection ? ', made by another projection' : '';
  const where = fields.length > 0 ? ` in ${fields.join(', ')}` : '';
  return `  ${collection}: ${count} ${KINDS[kind]}${why}${where}: ${examples.join(', ')}${count > examples.length ? ', …' : ''}`;
}

/** For programs. */
export function comparisonJson(comparison: Comparison): object {
  const { stores, counts, sampled, differences, unsettled, isOtherProjection } = comparison;
  return { stores, counts, sampled, unsettled, other_projection: isOtherProjection, differences };
}
