/**
 * What followers miss of a store that changes adversely: one that follows the feed, and one that asks MongoDB the usual way, once
 * a second for what is newer than the greatest `updated_at` that it has seen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { orderState } from '../projector/topic.ts';

export interface Missed {
  changes: number;
  records: number;
  deletions: number;
  feed: Misses;
  usual: Misses;
}

/** How a copy differs from the truth. */
interface Misses {
  /** Records that it does not have. */
  missing: number;
  /** Records in an older state. */
  stale: number;
  /** Deleted records that it still has. */
  undeleted: number;
}

/** A prime, so that every order is changed in every way. */
const RECORDS = 503;
const CHANGES = 2_000;
const CHUNK = 50;
const PAUSE_MS = 100;
const POLL_MS = 1_000;
const HOUR_MS = 3_600_000;

/** By id, the version that is there. */
type Copy = Map<string, string>;

export async function missByFollowing(
  installation: Installation,
  url: string,
  { storeId, token }: { storeId: string; token: string },
): Promise<Missed> {
  const truth: Copy = new Map();
  let stopping = false;
  const isOver = () => stopping;
  const feed = followFeed(url, token, isOver);
  const usual = poll(installation, storeId, isOver);
  let deletions = 0;
  for (let first = 0; first < CHANGES; first += CHUNK) {
    const events = Array.from({ length: CHUNK }, (_, index) => {
      const number = first + index;
      const subject = `o${(number * 7) % RECORDS}`;
      if (number % 20 === 19) {
        deletions += truth.delete(subject) ? 1 : 0;
        return { entity: 'order' as const, storeId, subject, sequence: number, action: 'deleted' as const };
      }
      // Of ten one comes from a point of sale that was offline, one from one whose clock is ahead.
      const shift = number % 10 === 3 ? -HOUR_MS : number % 200 === 105 ? 2 * HOUR_MS : 0;
      const display_id = `v${number}`;
      truth.set(subject, display_id);
      const at = new Date(Date.now() + shift).toISOString();
      const data = { ...orderState(number, 1), display_id, created_at: at, updated_at: at };
      return { entity: 'order' as const, storeId, subject, sequence: number, data };
    });
    await installation.publish(events);
    await sleep(PAUSE_MS);
  }
  await caughtUp(installation);
  await sleep(3 * POLL_MS);
  stopping = true;
  const [told, polled] = await Promise.all([feed, usual]);
  return {
    changes: CHANGES,
    records: RECORDS,
    deletions,
    feed: compare(told, truth),
    usual: compare(polled, truth),
  };
}

async function followFeed(url: string, token: string, isOver: () => boolean): Promise<Copy> {
  const copy: Copy = new Map();
  let after = '';
  while (!isOver()) {
    const response = await fetch(`${url}/api/order/changes?wait=1&page_size=100${after}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const page = (await response.json()) as {
      results: { id: string; record: { display_id: string } | null }[];
      next: string;
    };
    for (const { id, record } of page.results) {
      if (record === null) copy.delete(id);
      else copy.set(id, record.display_id);
    }
    after = `&after=${page.next}`;
  }
  return copy;
}

async function poll(installation: Installation, storeId: string, isOver: () => boolean): Promise<Copy> {
  const copy: Copy = new Map();
  const orders = (await readModels(installation)).collection<OrderDocument>(COLLECTIONS.order);
  let last = new Date(0);
  while (!isOver()) {
    const found = orders.find({ store_id: storeId, updated_at: { $gt: last } }, { sort: { updated_at: 1 } });
    for await (const { _id, summary, updated_at } of found) {
      copy.set(_id.slice(storeId.length + 1), (JSON.parse(summary) as { display_id: string }).display_id);
      last = updated_at;
    }
    await sleep(POLL_MS);
  }
  return copy;
}

function compare(copy: Copy, truth: Copy): Misses {
  const ids = [...truth.keys()];
  return {
    missing: ids.filter((id) => !copy.has(id)).length,
    stale: ids.filter((id) => copy.has(id) && copy.get(id) !== truth.get(id)).length,
    undeleted: [...copy.keys()].filter((id) => !truth.has(id)).length,
  };
}
