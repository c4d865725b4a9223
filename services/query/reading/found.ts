/** What a read found: a finished body, and the stamp of the snapshot it came from. */
import type { Readable } from 'node:stream';
import type { Stamp } from '#shared/read-models/collections.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';

/** A body as it leaves; a stream is to be read to its end, or destroyed. */
export type Body = string | Buffer | Readable;

export interface Found<B extends Body = string> {
  body: B;
  stamp: Stamp | null;
}

/** A body as it lies in the read model, with the offset it was made for. */
export interface StoredBody {
  body: string;
  offset: string;
}

/** The body under the store's present offset: as it lies there unless the store has moved since. */
export function bodyIn(offset: string, stored: StoredBody): string {
  return shiftBody(stored.body, stored.offset, offset);
}
