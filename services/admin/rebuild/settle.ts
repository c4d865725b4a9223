/**
 * Tells differences from events that are on their way: a record differs only if both generations went on past the
 * positions at which it was seen to differ, and neither shows anything new.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Generation } from '#shared/read-models/generation.ts';
import { hasReached, type Positions, readPositions } from './installation.ts';
import { type Content, differingFields } from '../comparison/content.ts';
import { type Contents, kindOf, readContents, type Wanted } from '../comparison/scan.ts';
import { inSnapshot } from '../comparison/snapshot.ts';
import type { DifferenceList } from './comparison.ts';

const LOOK_MS = 250;
/** How long events may be on their way. */
const PATIENCE_MS = 20_000;
/** Where neither generation moves for this long, nothing is on its way. */
const STANDSTILL_MS = 3_000;

export interface Suspect extends Wanted {
  collection: string;
}

/** What a record showed, and how far both were then. */
interface Seen extends Contents {
  atLive: Positions;
  atRebuilt: Positions;
}

export interface SettleOptions {
  environment: string;
  live: Generation;
  rebuilt: Generation;
  patienceMs?: number;
}

/** Looks at suspects until each is settled. @returns how many changed all the time. */
export async function settle(
  { environment, live, rebuilt, patienceMs = PATIENCE_MS }: SettleOptions,
  suspects: readonly Suspect[],
  differences: DifferenceList,
): Promise<number> {
  const note = ({ collection, id }: Suspect, contents: Contents) => {
    const kind = kindOf(contents);
    const fields = kind === 'content' ? differingFields(contents.one, contents.other) : [];
    differences.add(collection, kind, id, fields);
  };
  let open = suspects.map((suspect) => ({ ...suspect, seen: null as Seen | null }));
  const end = performance.now() + patienceMs;
  let moved = { at: performance.now(), positions: '' };
  for (;;) {
    open = await inSnapshot(live.db.client, async (session) => {
      const atLive = await readPositions(live.db, environment, session);
      const atRebuilt = await readPositions(rebuilt.db, environment, session);
      const positions = JSON.stringify([[...atLive], [...atRebuilt]]);
      if (positions !== moved.positions) moved = { at: performance.now(), positions };
      const left: typeof open = [];
      const sides = [
        { db: live.db, session },
        { db: rebuilt.db, session },
      ] as const;
      for (const [collection, group] of Map.groupBy(open, (suspect) => suspect.collection)) {
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
    await sleep(LOOK_MS);
  }
  // Where one of the two is no longer projected, what the new one lacks is lacking.
  let unsettled = 0;
  for (const { seen, ...suspect } of open) {
    if (seen !== null && isBehind(seen)) note(suspect, seen);
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
