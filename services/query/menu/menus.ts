/**
 * Menus are put together when they are read: once for each stamp, then answered from memory as long as the store's stamp is the
 * same. Of each store one is kept. One that is too large for that leaves as a stream, each time from one snapshot of its own.
 */
import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { StoreDataError } from '#shared/errors.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Caches } from '../read/caches.ts';
import {
  type Found,
  inSnapshot,
  offsetOf,
  openSnapshot,
  readStamp,
  type SnapshotReads,
  type Source,
  type StampView,
} from '../read/snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { isFew, readLargeMenu, type ReadMenu, readSmallMenu } from './read.ts';

/** All cached menus together. */
const CACHED_BYTES = 96 * 1_048_576;
/** A larger menu is not cached. */
const MAX_CACHED_BYTES = 24 * 1_048_576;
/** A larger one is no small menu. */
const MAX_SMALL_BYTES = 1_048_576;
/** Large menus that are put together at a time, and of one store: each takes some 30 MiB at most. */
const MAX_AT_ONCE = 8;
const MAX_AT_ONCE_OF_ONE = 2;
/** Small ones: each is a read of at most 16 MiB. */
const MAX_SMALL_AT_ONCE = 16;
/** Longer than MongoDB keeps a snapshot as a rule (300 s), a stream cannot go on. */
const MAX_STREAM_MS = 240_000;

/** What the menu of a store is read with. */
interface MenuView extends StampView, Source {
  shared: StampView['shared'] & { source: Source; key: (of: string) => string };
}

export class Menus {
  readonly #largeMenus: LRUCache<string, true>;
  /** By store: what was made last, and for which stamp. */
  readonly #cache = new LRUCache<string, { tag: string; menu: Found }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ menu }) => menu.body.length + 1_000,
  });
  /** By store and stamp: requests for a menu that is being made share it. */
  readonly #making = new Map<string, Promise<Found | null>>();
  readonly #slots = new Slots(MAX_AT_ONCE, MAX_AT_ONCE_OF_ONE);
  readonly #smallSlots = new Slots(MAX_SMALL_AT_ONCE, 1);

  constructor({ largeMenus }: Caches) {
    this.#largeMenus = largeMenus;
  }

  /** The menu of a store; without categories where it has none to show. */
  async read(view: MenuView): Promise<Found<Buffer | Readable>> {
    const key = view.shared.key(view.storeId);
    const stamp = await readStamp(view);
    if (this.#largeMenus.has(key)) return this.#stream(view, key);
    const tag = tagOf(stamp);
    const kept = this.#cache.get(key);
    if (kept?.tag === tag) return kept.menu;
    const make = () => this.#makeOnce(view, key, isFew(stamp), tag);
    // What is read piece by piece may take longer than a request: each piece has a deadline of its own.
    const menu = await (isFew(stamp) ? view.withDeadline(make) : make());
    return menu ?? this.#stream(view, key);
  }

  #makeOnce(view: MenuView, key: string, mayBeSmall: boolean, tag: string): Promise<Found | null> {
    const name = `${key} ${tag}`;
    const underWay = this.#making.get(name);
    if (underWay !== undefined) return underWay;
    const make = async () => {
      const menu = (mayBeSmall ? await this.#makeSmall(view, key) : null) ?? (await this.#make(view, key));
      if (menu === null) this.#largeMenus.set(key, true);
      else this.#cache.set(key, { tag, menu });
      return menu;
    };
    const making = make().finally(() => this.#making.delete(name));
    this.#making.set(name, making);
    return making;
  }

  async #makeSmall({ storeId, shared: { source } }: MenuView, key: string): Promise<Found | null> {
    const release = await source.withDeadline((signal) => this.#smallSlots.take(key, signal));
    try {
      const menu = await readSmallMenu(source, storeId);
      return menu && (await collected(menu, MAX_SMALL_BYTES));
    } finally {
      release();
    }
  }

  async #make({ storeId, shared: { source } }: MenuView, key: string): Promise<Found | null> {
    const release = await source.withDeadline((signal) => this.#slots.take(key, signal));
    return inSnapshot(source, async (reads) =>
      collected(readLargeMenu(reads, storeId, await stampIn(reads, storeId)), MAX_CACHED_BYTES),
    ).finally(release);
  }

  async #stream({ withDeadline, storeId, shared: { source } }: MenuView, key: string): Promise<Found<Readable>> {
    const release = await withDeadline((signal) => this.#slots.take(key, signal));
    const reads = openSnapshot(source);
    const end = () => {
      release();
      void reads.end();
    };
    try {
      const stamp = await withDeadline(() => stampIn(reads, storeId));
      const { portions } = readLargeMenu(reads, storeId, stamp);
      const body = Readable.from(portions, { objectMode: false });
      const timer = setTimeout(() => {
        body.destroy(new StoreDataError('environment_unavailable', 'a menu took too long to be taken'));
      }, MAX_STREAM_MS).unref();
      body.once('close', () => {
        clearTimeout(timer);
        end();
      });
      return { body, stamp };
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** A whole menu; `null` where it has more bytes than `most`. */
async function collected({ stamp, portions }: ReadMenu, most: number): Promise<Found | null> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const portion of portions) {
    all.push(portion);
    bytes += portion.length;
    if (bytes > most) return null;
  }
  return { body: asShared(Buffer.concat(all)), stamp };
}

/** Changes with everything that a menu shows; after a restored backup the epochs differ where counters may not. */
function tagOf(stamp: Stamp | null): string {
  const { category, product, option_group: groups, epochs } = stamp ?? {};
  return JSON.stringify([offsetOf(stamp), category, product, groups, epochs]);
}

async function stampIn(reads: SnapshotReads, storeId: string): Promise<Stamp | null> {
  const [stamp] = await reads.read<Stamp>(STAMPS, [{ $match: { _id: storeId } }]);
  return stamp ?? null;
}

/** A semaphore for work that takes memory: so many at a time, and so many of them for one key. Those of other keys overtake. */
class Slots {
  readonly #most: number;
  readonly #mostOfOne: number;
  /** The key of each slot that is taken. */
  readonly #taken: string[] = [];
  readonly #waiting = new Set<{ key: string; begin: () => void }>();

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Waits for a slot. @returns what gives it back. @throws the signal's reason when it is aborted before. */
  async take(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiter = { key, begin };
    this.#waiting.add(waiter);
    const giveUp = () => {
      this.#waiting.delete(waiter);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#beginNext();
    await promise;
    return () => {
      this.#taken.splice(this.#taken.indexOf(key), 1);
      this.#beginNext();
    };
  }

  #beginNext(): void {
    for (const waiter of this.#waiting) {
      const ofKey = this.#taken.filter((taken) => taken === waiter.key).length;
      if (this.#taken.length >= this.#most || ofKey >= this.#mostOfOne) continue;
      this.#waiting.delete(waiter);
      this.#taken.push(waiter.key);
      waiter.begin();
    }
  }
}
