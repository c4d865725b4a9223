/**
 * Tells differences from events that are on their way: a record differs only if both generations went on past the
 * positions at which it was seen to differ, and neither shows anything new.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import { hasReached, type Positions, readPositions } from './installation.ts';
import { differingFields } from '../comparison/content.ts';
import { type Contents, kindOf, readContents } from '../comparison/scan.ts';
import { inSnapshot } from '../comparison/snapshot.ts';
import type { DifferenceList } from './comparison.ts';

const LOOK_MS = 250;
/** How long events may be on their way. */
const PATIENCE_MS = 20_000;
/** Where neither generation moves for this long, nothing is on its way. */
const STANDSTILL_MS = 3_000;
const AT_ONCE = 500;

export interface Suspect {
  collection: string;
  id: string;
  /** The store's present offset. */
  offset: string;
}

/** What a record showed, and how far both were then. */
interface Seen extends Contents {
  atLive: Positions;
  atRebuilt: Positions;
}

export interface SettleOptions {
  client: MongoClient;
  environment: string;
  live: Generation;
  rebuilt: Generation;
  patienceMs?: number;
}

/** Looks at suspects until each is settled. @returns how many changed all the time. */
export async function settle(
  options: SettleOptions,
  suspects: readonly Suspect[],
  differences: DifferenceList,
): Promise<number> {
  const { client, environment, live, rebuilt, patienceMs = PATIENCE_MS } = options;
  let open = suspects.map((suspect) => ({ suspect, seen: null as Seen | null }));
  const end = performance.now() + patienceMs;
  let moved = { at: performance.now(), positions: '' };
  for (;;) {
    open = await inSnapshot(client, async (session) => {
      const atLive = await readPositions(live.db, environment, session);
      const atRebuilt = await readPositions(rebuilt.db, environment, session);
      const positions = JSON.stringify([[...atLive], [...atRebuilt]]);
      if (positions !== moved.positions) moved = { at: performance.now(), positions };
      const left: typeof open = [];
      for (const { suspect, seen, now } of await look(session, live, rebuilt, open)) {
        const fields = differingFields(now.one, now.other);
        if (fields.length === 0) continue;
        const isUnchanged =
          seen !== null &&
          differingFields(seen.one, now.one).length === 0 &&
          differingFields(seen.other, now.other).length === 0;
        if (!isUnchanged) {
          left.push({ suspect, seen: { ...now, atLive, atRebuilt } });
        } else if (hasReached(atRebuilt, seen.atLive) && hasReached(atLive, seen.atRebuilt)) {
          note(differences, suspect, now, fields);
        } else {
          left.push({ suspect, seen });
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
  for (const { suspect, seen } of open) {
    if (seen !== null && isBehind(seen))
      note(differences, suspect, seen, differingFields(seen.one, seen.other));
    else unsettled += 1;
  }
  return unsettled;
}

async function look(
  session: ClientSession,
  live: Generation,
  rebuilt: Generation,
  open: readonly { suspect: Suspect; seen: Seen | null }[],
): Promise<{ suspect: Suspect; seen: Seen | null; now: Contents }[]> {
  const found: { suspect: Suspect; seen: Seen | null; now: Contents }[] = [];
  for (const [collection, group] of Map.groupBy(open, ({ suspect }) => suspect.collection)) {
    for (let start = 0; start < group.length; start += AT_ONCE) {
      const part = group.slice(start, start + AT_ONCE);
      const contents = await readContents(
        { db: live.db, session },
        { db: rebuilt.db, session },
        collection,
        part.map(({ suspect }) => suspect),
      );
      for (const [index, now] of contents.entries()) {
        const one = part[index];
        if (one !== undefined) found.push({ ...one, now });
      }
    }
  }
  return found;
}

function note(
  differences: DifferenceList,
  { collection, id }: Suspect,
  now: Contents,
  fields: readonly string[],
): void {
  const kind = kindOf(now);
  differences.add(collection, kind, id, kind === 'content' ? fields : []);
}

function isBehind({ one, other }: Contents): boolean {
  return other.size === 0 || Number(one.get('sequence')) >= Number(other.get('sequence'));
}
