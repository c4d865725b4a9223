/**
 * Tells differences from events that are on their way: a record differs only if both generations went on past the
 * positions at which it was seen to differ, and neither shows anything new.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import { hasReached, type Positions, readPositions } from '../positions.ts';
import { contentOf, differingFields } from './content.ts';
import type { DifferenceList } from './result.ts';
import { readRecords } from './side.ts';
import { inSnapshot } from './snapshot.ts';

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

interface Seen {
  live: ReadonlyMap<string, string>;
  rebuilt: ReadonlyMap<string, string>;
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
        const fields = differingFields(now.live, now.rebuilt);
        if (fields.length === 0) continue;
        const isUnchanged =
          seen !== null &&
          differingFields(seen.live, now.live).length === 0 &&
          differingFields(seen.rebuilt, now.rebuilt).length === 0;
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
      note(differences, suspect, seen, differingFields(seen.live, seen.rebuilt));
    else unsettled += 1;
  }
  return unsettled;
}

interface Contents {
  live: ReadonlyMap<string, string>;
  rebuilt: ReadonlyMap<string, string>;
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
      const ids = part.map(({ suspect }) => suspect.id);
      const ours = await readRecords(live.db, session, collection, ids);
      const theirs = await readRecords(rebuilt.db, session, collection, ids);
      for (const { suspect, seen } of part) {
        const { id, offset } = suspect;
        const now = {
          live: contentOf(ours.get(id) ?? {}, offset),
          rebuilt: contentOf(theirs.get(id) ?? {}, offset),
        };
        found.push({ suspect, seen, now });
      }
    }
  }
  return found;
}

function note(
  differences: DifferenceList,
  { collection, id }: Suspect,
  { live, rebuilt }: Contents,
  fields: readonly string[],
): void {
  if (rebuilt.size === 0) differences.add(collection, 'missing', id);
  else if (live.size === 0) differences.add(collection, 'added', id);
  else if (live.get('sequence') !== rebuilt.get('sequence')) differences.add(collection, 'version', id);
  else differences.add(collection, 'content', id, fields);
}

function isBehind({ live, rebuilt }: Contents): boolean {
  return rebuilt.size === 0 || Number(live.get('sequence')) >= Number(rebuilt.get('sequence'));
}
