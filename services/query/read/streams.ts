/**
 * Answers of any size: a small one is a buffer, a large one is sent while it is read, so that
 * memory is bounded.
 */
import { Readable } from 'node:stream';
import { unavailable } from '#shared/errors.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { measured, type Slot } from './slots.ts';
import type { Body, Found, SnapshotReads } from './snapshot.ts';

/** An answer that is read while its portions are consumed. */
export interface Portioned {
  stamp: Stamp | null;
  /** Its JSON. */
  portions: AsyncGenerator<Buffer>;
}

/** A larger answer is streamed. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** A stream ends before MongoDB gives up its snapshot (300 s). */
const MAX_STREAM_MS = 240_000;

/** Ends slot and snapshot when the answer is complete, or its stream is closed. */
export async function bufferedOrStreamed(
  slot: Slot,
  reads: SnapshotReads,
  read: () => Promise<Portioned | null>,
): Promise<Found<Body> | null> {
  const end = () => {
    slot.release();
    void reads.end();
  };
  try {
    const found = await read();
    if (found === null) {
      end();
      return null;
    }
    const { stamp, portions } = found;
    const first: Buffer[] = [];
    let bytes = 0;
    while (bytes <= MAX_BUFFERED_BYTES) {
      const { done, value } = await portions.next();
      if (done) {
        end();
        return { body: Buffer.concat(first), stamp };
      }
      first.push(value);
      bytes += value.length;
    }
    return { body: streamOf(slot, end, joined(first, portions)), stamp };
  } catch (error) {
    end();
    throw error;
  }
}

async function* joined(first: Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first.splice(0);
  yield* rest;
}

/** Streams portions. @param end is called when the stream is closed. */
export function streamOf(slot: Slot, end: () => void, portions: AsyncIterable<Buffer>): Readable {
  const { portions: passedOn, slownessMs } = measured(portions);
  const body = Readable.from(passedOn, { objectMode: false });
  slot.stream = { slownessMs, destroy: (reason) => body.destroy(reason) };
  const timer = setTimeout(() => {
    body.destroy(unavailable('the client did not read the answer in time'));
  }, MAX_STREAM_MS).unref();
  body.once('close', () => {
    clearTimeout(timer);
    end();
  });
  return body;
}
