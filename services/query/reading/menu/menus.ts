/**
 * Menus are put together when they are read: once for each stamp, then answered from memory as long as the store's stamp is the
 * same. One that is too large for that leaves as a stream, each time from one snapshot of its own.
 */
import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { ReadOne } from '../../batched.ts';
import type { Bounded } from '../../deadline.ts';
import { StoreDataError } from '#shared/errors.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Found } from '../found.ts';
import { offsetOf, readStamp, type StampView } from '../stamp.ts';
import { openSnapshot, type SnapshotReads } from '../snapshot.ts';
import { readLargeMenu } from './large.ts';
import { Slots } from './slots.ts';
import { isFew, type SmallMenu } from './small.ts';

/** Bytes of all menus that are kept. */
const KEPT_BYTES = 96 * 1_048_576;
/** A larger menu is not kept. */
const LARGEST_KEPT = 24 * 1_048_576;
/** For how long a menu that was too large is not tried again. */
const LARGE_FOR_MS = 60_000;
const LARGE_STORES = 1_000;
/** Large menus that are put together at a time, and of one store: each takes some 30 MiB at most. */
const AT_ONCE = 8;
const AT_ONCE_OF_ONE = 2;
/** Longer than MongoDB keeps a snapshot as a rule (300 s), a stream cannot go on. */
const LONGEST_STREAM_MS = 240_000;

interface Kept {
  /** Of what it was made. */
  tag: string;
  stamp: Stamp | null;
  body: Buffer;
}

interface Composing {
  /** Those who asked before it began may have its menu, whatever its stamp. */
  began: number;
  /** Resolves once it is known that it takes longer than a single read. */
  isLarge: Promise<void>;
  /** `null` for a menu that is too large to be kept. */
  done: Promise<Kept | null>;
}

/** What the menu of a store is read with. */
interface MenuView extends StampView {
  generation: Generation;
  shared: StampView['shared'] & { each: Bounded; smallMenu: ReadOne<SmallMenu> };
}

export class Menus {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ body }) => body.length + 1_000,
  });
  readonly #composing = new Map<string, Composing>();
  /** Menus that were too large lately: to be kept, and to be read together with those of others. */
  readonly #large = new LRUCache<string, true>({ max: LARGE_STORES, ttl: LARGE_FOR_MS });
  readonly #notSmall = new LRUCache<string, true>({ max: LARGE_STORES, ttl: LARGE_FOR_MS });
  readonly #slots = new Slots(AT_ONCE, AT_ONCE_OF_ONE);
  #turn = 0;

  /** The menu of a store; without categories where it has none to show. */
  async read(view: MenuView): Promise<Found<Buffer | Readable>> {
    const key = `${view.generation.marker.id}/${view.storeId}`;
    this.#turn += 1;
    const asked = this.#turn;
    const stamp = await readStamp(view);
    const tag = tagOf(stamp);
    const kept = this.#kept.get(key);
    if (kept?.tag === tag) return kept;
    while (!this.#large.has(key)) {
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

  async #put(view: MenuView, key: string, stamp: Stamp | null, isLarge: () => void): Promise<Kept | null> {
    const { generation, storeId } = view;
    const { each } = view.shared;
    if (isFew(stamp) && !this.#notSmall.has(key)) {
      const menu = await each((signal) => view.shared.smallMenu(storeId, signal));
      if (menu !== null) return this.#keep(key, menu.stamp, menu.body);
      this.#notSmall.set(key, true);
    }
    const release = await each((signal) => this.#slots.take(key, signal));
    isLarge();
    const reads = openSnapshot(generation, each);
    try {
      const present = await stampIn(reads, storeId);
      const portions: Buffer[] = [];
      let bytes = 0;
      for await (const portion of readLargeMenu(reads, storeId, offsetOf(present))) {
        portions.push(portion);
        bytes += portion.length;
        if (bytes > LARGEST_KEPT) {
          this.#large.set(key, true);
          return null;
        }
      }
      return this.#keep(key, present, Buffer.concat(portions));
    } finally {
      release();
      await reads.end();
    }
  }

  #keep(key: string, stamp: Stamp | null, body: Buffer): Kept {
    const menu = { tag: tagOf(stamp), stamp, body };
    this.#kept.set(key, menu);
    return menu;
  }

  async #stream(view: MenuView, key: string): Promise<Found<Readable>> {
    const { generation, bounded, storeId } = view;
    const release = await bounded((signal) => this.#slots.take(key, signal));
    const reads = openSnapshot(generation, view.shared.each);
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
