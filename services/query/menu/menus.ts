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
  offsetOf,
  readStamp,
  type StampView,
  openSnapshot,
  type SnapshotReads,
  type Source,
} from '../read/snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { readLargeMenu } from './build.ts';
import { isFew, readSmallMenu } from './small.ts';

/** All cached menus together. */
const CACHED_BYTES = 96 * 1_048_576;
/** A larger menu is not cached. */
const MAX_CACHED_BYTES = 24 * 1_048_576;
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

interface Asked {
  view: MenuView;
  key: string;
  stamp: Stamp | null;
}

export class Menus {
  readonly #largeMenus: LRUCache<string, true>;
  /** By store: what was made last, and for which stamp. */
  readonly #cache = new LRUCache<string, { tag: string; menu: Found }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ menu }) => menu.body.length + 1_000,
  });
  /** By store and stamp: requests for a menu that is being made share it. */
  readonly #making = new Map<string, Promise<Found | undefined>>();
  readonly #slots = new Slots(MAX_AT_ONCE, MAX_AT_ONCE_OF_ONE);
  readonly #smallSlots = new Slots(MAX_SMALL_AT_ONCE, 1);

  constructor({ largeMenus }: Caches) {
    this.#largeMenus = largeMenus;
  }

  /** The menu of a store; without categories where it has none to show. */
  async read(view: MenuView): Promise<Found<Buffer | Readable>> {
    const key = view.shared.key(view.storeId);
    const stamp = await readStamp(view);
    if (!this.#largeMenus.has(key)) {
      const tag = tagOf(stamp);
      const kept = this.#cache.get(key);
      if (kept?.tag === tag) return kept.menu;
      const make = () => this.#makeOnce({ view, key, stamp }, tag);
      // What is read piece by piece may take longer than a request: each piece has a deadline of its own.
      const menu = await (isFew(stamp) ? view.withDeadline(make) : make());
      if (menu !== undefined) return menu;
    }
    return this.#stream(view, key);
  }

  #makeOnce(asked: Asked, tag: string): Promise<Found | undefined> {
    const { key } = asked;
    const name = `${key} ${tag}`;
    const underWay = this.#making.get(name);
    if (underWay !== undefined) return underWay;
    const making = this.#make(asked)
      .then((menu) => {
        if (menu !== undefined) this.#cache.set(key, { tag, menu });
        return menu;
      })
      .finally(() => this.#making.delete(name));
    this.#making.set(name, making);
    return making;
  }

  /** `undefined` for a menu that is too large to be cached. */
  async #make({ view, key, stamp }: Asked): Promise<Found | undefined> {
    const { storeId, shared } = view;
    const { withDeadline } = shared.source;
    if (isFew(stamp)) {
      const release = await withDeadline((signal) => this.#smallSlots.take(key, signal));
      const menu = await readSmallMenu(shared.source, storeId).finally(release);
      if (menu !== null) return { ...menu, body: asShared(menu.body) };
    }
    const release = await withDeadline((signal) => this.#slots.take(key, signal));
    const reads = openSnapshot(shared.source);
    try {
      const present = await stampIn(reads, storeId);
      const portions: Buffer[] = [];
      let bytes = 0;
      for await (const portion of readLargeMenu(reads, storeId, offsetOf(present))) {
        portions.push(portion);
        bytes += portion.length;
        if (bytes > MAX_CACHED_BYTES) {
          this.#largeMenus.set(key, true);
          return undefined;
        }
      }
      return { body: asShared(Buffer.concat(portions)), stamp: present };
    } finally {
      release();
      await reads.end();
    }
  }

  async #stream(view: MenuView, key: string): Promise<Found<Readable>> {
    const { withDeadline, storeId } = view;
    const release = await withDeadline((signal) => this.#slots.take(key, signal));
    const reads = openSnapshot(view.shared.source);
    const end = () => {
      release();
      void reads.end();
    };
    try {
      const stamp = await withDeadline(() => stampIn(reads, storeId));
      const body = Readable.from(readLargeMenu(reads, storeId, offsetOf(stamp)), { objectMode: false });
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

/** Changes with everything that a menu shows; after a restored backup the epochs differ where counters may not. */
function tagOf(stamp: Stamp | null): string {
  return JSON.stringify([
    offsetOf(stamp),
    stamp?.category,
    stamp?.product,
    stamp?.option_group,
    stamp?.epochs,
  ]);
}

async function stampIn(reads: SnapshotReads, storeId: string): Promise<Stamp | null> {
  const [stamp] = await reads.read<Stamp>(STAMPS, [{ $match: { _id: storeId } }]);
  return stamp ?? null;
}

/** A semaphore for work that takes memory: so many at a time, and so many of them for one key. */
interface Waiter {
  key: string;
  begin: () => void;
}

export class Slots {
  readonly #most: number;
  readonly #mostOfOne: number;
  /** The key of each slot that is taken. */
  readonly #taken: string[] = [];
  readonly #waiting: Waiter[] = [];

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /**
   * Waits for a slot. Those of other keys overtake one whose key has all of its own.
   * @returns what gives it back; calling it again changes nothing.
   * @throws the signal's reason when it is aborted before.
   */
  async take(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiter = { key, begin };
    const giveUp = () => {
      remove(this.#waiting, waiter);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.push(waiter);
    this.#beginNext();
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      remove(this.#taken, key);
      this.#beginNext();
    };
  }

  /** The slot is taken when the turn comes. */
  #beginNext(): void {
    const next = this.#waiting.find(({ key }) => this.#isFree(key));
    if (next === undefined) return;
    remove(this.#waiting, next);
    this.#taken.push(next.key);
    next.begin();
  }

  #isFree(key: string): boolean {
    const ofKey = this.#taken.filter((taken) => taken === key);
    return this.#taken.length < this.#most && ofKey.length < this.#mostOfOne;
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
}
