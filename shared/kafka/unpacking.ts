/**
 * Unpacks small batches at once, large ones in a thread, one at a time. The last one is cached,
 * since fetches read it in pieces.
 */
import { setImmediate } from 'node:timers/promises';
import { type Codec, MAX_UNPACKED_BYTES, UnpacksTooLarge } from './codecs.ts';
import { createSemaphore } from '../waiting.ts';
import { HEADER_BYTES } from './message.ts';

/** Larger batches are unpacked in a thread: this much takes a few milliseconds. */
const MAX_AT_ONCE_BYTES = 2 * 1_048_576;
/** A large batch leaves the cache after this time without use. */
const REMEMBERED_MS = 5_000;

export interface Unpacked {
  records: Buffer;
  /** Whether it was compressed and is large, and therefore cached. */
  isLarge: boolean;
  /** Whether every record was read once without a mistake. */
  isChecked: boolean;
}

export type Unpacking = ReturnType<typeof createUnpacking>;

export function createUnpacking() {
  let last: { batch: Buffer; outcome: Promise<Unpacked> } | null = null;
  /** One large batch is read at a time. */
  const takeTurn = createSemaphore(1);
  let forgetting: NodeJS.Timeout | undefined;

  const isLast = (batch: Buffer) => last?.batch.equals(batch) === true;

  function outcomeOf(batch: Buffer, unpack: () => Promise<Buffer>): Promise<Unpacked> {
    clearTimeout(forgetting);
    forgetting = setTimeout(() => (last = null), REMEMBERED_MS).unref();
    if (last !== null && isLast(batch)) return last.outcome;
    // Releases the previous batch before this one takes memory.
    last = null;
    const outcome = unpack().then((records) => ({ records, isLarge: true, isChecked: false }));
    // A copy, so that the cache does not hold the whole answer in memory.
    last = { batch: Buffer.from(batch), outcome };
    return outcome;
  }

  return {
    /** @throws {UnpacksTooLarge}, or what the codec or `read` throws. */
    async read<T>(
      batch: Buffer,
      codec: Codec,
      read: (unpacked: Unpacked) => Promise<T>,
    ): Promise<T> {
      const packed = batch.subarray(HEADER_BYTES);
      const small = isLast(batch) ? null : atOnce(packed, codec);
      if (small !== null) return read({ records: small, isLarge: false, isChecked: false });
      const leave = await takeTurn();
      try {
        return await read(
          await outcomeOf(batch, () => codec.unpackInThread(packed, MAX_UNPACKED_BYTES)),
        );
      } finally {
        leave();
      }
    },
  };
}

function atOnce(packed: Buffer, codec: Codec): Buffer | null {
  try {
    return codec.unpack(packed, MAX_AT_ONCE_BYTES);
  } catch (error) {
    if (error instanceof UnpacksTooLarge) return null;
    throw error;
  }
}

/** How long reading may block the event loop. */
const MAX_TURN_MS = 10;

/** The bounds of one answer. Two messages of one partition are always read. */
const LIMITS = { bytes: 128 * 1_048_576, milliseconds: 500 };

/** Bounds the decoding of one answer, in memory and in time. The next fetch brings the rest. */
export class DecodingBudget {
  readonly #limits: typeof LIMITS;
  readonly #began = performance.now();
  #turnBegan = this.#began;
  #bytes = 0;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  spend(bytes: number): void {
    this.#bytes += bytes;
  }

  get isSpent(): boolean {
    const { bytes, milliseconds } = this.#limits;
    return this.#bytes >= bytes || performance.now() - this.#began >= milliseconds;
  }

  /** Whether the event loop was blocked long enough: then `yieldTurn` is due. */
  get isTurnOver(): boolean {
    return performance.now() - this.#turnBegan > MAX_TURN_MS;
  }

  async yieldTurn(): Promise<void> {
    await setImmediate();
    this.#turnBegan = performance.now();
  }
}
