/**
 * Composes menus when they are read: once for each stamp, then cached while the store's stamp stays
 * the same. A menu that is too large for the cache is streamed, each time from a snapshot of its
 * own.
 */
import { LRUCache } from 'lru-cache';
import type { Stamp } from '#shared/read-models/collections.ts';
import type { WithDeadline } from '../deadline.ts';
import type { Caches } from '../read/caches.ts';
import { readStamp, type View } from '../read/shared-reads.ts';
import { type Body, type Found, inSnapshot, offsetOf } from '../read/snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { isFew, readLargeMenu, readSmallMenu } from './read.ts';
import { semaphore, type TakeSlot } from '../read/slots.ts';
import type { Portioned } from '../read/streams.ts';

/** All cached menus together. */
const CACHED_BYTES = 96 * 1_048_576;
/** A larger menu is not cached. */
const MAX_CACHED_BYTES = 24 * 1_048_576;
/** A larger menu is not small. */
const MAX_SMALL_BYTES = 1_048_576;
/** Small menus: each is a read of at most 16 MiB. */
const MAX_SMALL_AT_ONCE = 16;

/** @param takeSlot of a large menu. @param slotDeadline for waits for a small one's. */
export function menuReader({ large }: Caches, takeSlot: TakeSlot, slotDeadline: WithDeadline) {
  /** By store: the last menu, and the tag of its stamp. */
  const cache = new LRUCache<string, { tag: string; menu: Found }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ menu }) => menu.body.length + 1_000,
  });
  /** By store and tag: requests for a menu that is being composed share it. */
  const making = new Map<string, Promise<Found | null>>();
  const takeSmallSlot = semaphore(MAX_SMALL_AT_ONCE, 1, slotDeadline);

  async function read(view: View): Promise<Found<Body> | null> {
    const key = view.shared.key(view.storeId);
    const stamp = await readStamp(view);
    const stream = () =>
      view.shared.streamed(view, (_own, reads) => readLargeMenu(reads, view.storeId));
    if (large.has(key)) return stream();
    const tag = tagOf(stamp);
    const kept = cache.get(key);
    if (kept?.tag === tag) return kept.menu;
    const name = `${key} ${tag}`;
    const make = () => {
      const underWay = making.get(name);
      if (underWay !== undefined) return underWay;
      const made = compose(view, key, isFew(stamp)).finally(() => making.delete(name));
      making.set(name, made);
      return made;
    };
    // A large menu may take longer than a request: each of its reads has a deadline of its own.
    const menu = await (isFew(stamp) ? view.withDeadline(make) : make());
    return menu ?? stream();
  }

  /** Composes a menu and caches it; `null` if it is too large. */
  async function compose({ storeId, shared: { source } }: View, key: string, mayBeSmall: boolean) {
    const makeSmall = async () => {
      const found = await readSmallMenu(source, storeId);
      return found && collected(found, MAX_SMALL_BYTES);
    };
    const makeLarge = () =>
      inSnapshot(source, async (reads) =>
        collected(await readLargeMenu(reads, storeId), MAX_CACHED_BYTES),
      );
    const small = mayBeSmall ? await inSlot(takeSmallSlot, key, makeSmall) : null;
    const menu = small ?? (await inSlot(takeSlot, key, makeLarge));
    if (menu === null) large.set(key, true);
    else cache.set(key, { tag: tagOf(menu.stamp), menu });
    return menu;
  }

  return read;
}

async function inSlot<T>(takeSlot: TakeSlot, key: string, work: () => Promise<T>): Promise<T> {
  const { release } = await takeSlot(key);
  return work().finally(release);
}

/** A whole menu; `null` if it has more than `most` bytes. */
async function collected({ stamp, portions }: Portioned, most: number): Promise<Found | null> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const portion of portions) {
    all.push(portion);
    bytes += portion.length;
    if (bytes > most) return null;
  }
  return { body: asShared(Buffer.concat(all)), stamp };
}

/**
 * Changes with everything that a menu shows. After a restored backup counters may repeat; epochs do
 * not.
 */
function tagOf(stamp: Stamp | null): string {
  const { category, product, option_group: groups, epochs } = stamp ?? {};
  return JSON.stringify([offsetOf(stamp), category, product, groups, epochs]);
}
