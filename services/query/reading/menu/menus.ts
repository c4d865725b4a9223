/**
 * Menus are put together when they are read: once for each stamp, then answered from memory as long as the store's stamp is the
 * same. One that is too large for that leaves as a stream, each time from one snapshot of its own.
 */
import { Readable } from 'node:stream';
import type { ReadOne } from '../../batched.ts';
import { StoreDataError } from '#shared/errors.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { CachedMenu, Caches } from '../caches.ts';
import type { Found } from '../found.ts';
import { offsetOf, readStamp, type StampView } from '../stamp.ts';
import { openSnapshot, type SnapshotReads, type Source } from '../snapshot.ts';
import { readLargeMenu } from './large.ts';
import { Slots } from './slots.ts';
import { isFew, type SmallMenu } from './small.ts';

/** A larger menu is not cached. */
const LARGEST_CACHED = 24 * 1_048_576;
/** Large menus that are put together at a time, and of one store: each takes some 30 MiB at most. */
const AT_ONCE = 8;
const AT_ONCE_OF_ONE = 2;
/** Longer than MongoDB keeps a snapshot as a rule (300 s), a stream cannot go on. */
const LONGEST_STREAM_MS = 240_000;

interface Composing {
  /** Those who asked before it began may have its menu, whatever its stamp. */
  began: number;
  /** Resolves once it is known that it takes longer than a single read. */
  isLarge: Promise<void>;
  /** `null` for a menu that is too large to be cached. */
  done: Promise<CachedMenu | null>;
}

/** What the menu of a store is read with. */
interface MenuView extends StampView, Source {
  shared: StampView['shared'] & {
    source: Source;
    smallMenu: ReadOne<SmallMenu>;
    key: (of: string) => string;
  };
}

export class Menus {
  readonly #caches: Caches;
  readonly #composing = new Map<string, Composing>();
  readonly #slots = new Slots(AT_ONCE, AT_ONCE_OF_ONE);
  #turn = 0;

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  /** The menu of a store; without categories where it has none to show. */
  async read(view: MenuView): Promise<Found<Buffer | Readable>> {
    const key = view.shared.key(view.storeId);
    this.#turn += 1;
    const asked = this.#turn;
    const stamp = await readStamp(view);
    const tag = tagOf(stamp);
    const cached = this.#caches.menus.get(key);
    if (cached?.tag === tag) return cached;
    while (!this.#caches.largeMenus.has(key)) {
      const composing = this.#composing.get(key) ?? this.#compose(view, key, stamp);
      await view.bounded(() => Promise.race([composing.isLarge, composing.done]));
      const menu = await composing.done;
      if (menu !== null && (menu.tag === tag || composing.began > asked)) return menu;
    }
    return this.#stream(view, key);
  }

  #compose(view: MenuView, key: string, stamp: Stamp | null): Composing {
    this.#turn += 1;
    const large = Promise.withResolvers<void>();
    const done = this.#put(view, key, stamp, large.resolve).finally(() => this.#composing.delete(key));
    const composing = { began: this.#turn, isLarge: large.promise, done };
    this.#composing.set(key, composing);
    return composing;
  }

  async #put(
    view: MenuView,
    key: string,
    stamp: Stamp | null,
    isLarge: () => void,
  ): Promise<CachedMenu | null> {
    const { storeId, shared } = view;
    const { bounded } = shared.source;
    const { largeMenus, lonelyMenus } = this.#caches;
    if (isFew(stamp) && !lonelyMenus.has(key)) {
      const menu = await bounded((signal) => shared.smallMenu(storeId, signal));
      if (menu !== null) return this.#cache(key, menu.stamp, menu.body);
      lonelyMenus.set(key, true);
    }
    const release = await bounded((signal) => this.#slots.take(key, signal));
    isLarge();
    const reads = openSnapshot(shared.source);
    try {
      const present = await stampIn(reads, storeId);
      const portions: Buffer[] = [];
      let bytes = 0;
      for await (const portion of readLargeMenu(reads, storeId, offsetOf(present))) {
        portions.push(portion);
        bytes += portion.length;
        if (bytes > LARGEST_CACHED) {
          largeMenus.set(key, true);
          return null;
        }
      }
      return this.#cache(key, present, Buffer.concat(portions));
    } finally {
      release();
      await reads.end();
    }
  }

  #cache(key: string, stamp: Stamp | null, body: Buffer): CachedMenu {
    const menu = { tag: tagOf(stamp), stamp, body };
    this.#caches.menus.set(key, menu);
    return menu;
  }

  async #stream(view: MenuView, key: string): Promise<Found<Readable>> {
    const { bounded, storeId } = view;
    const release = await bounded((signal) => this.#slots.take(key, signal));
    const reads = openSnapshot(view.shared.source);
    const end = () => {
      release();
      void reads.end();
    };
    try {
      const stamp = await bounded(() => stampIn(reads, storeId));
      const body = Readable.from(readLargeMenu(reads, storeId, offsetOf(stamp)), { objectMode: false });
      const timer = setTimeout(() => {
        body.destroy(new StoreDataError('environment_unavailable', 'a menu took too long to be taken'));
      }, LONGEST_STREAM_MS).unref();
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
