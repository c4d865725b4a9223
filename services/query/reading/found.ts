/** What a read found: a finished body, and the stamp of the snapshot it came from. */
import type { Readable } from 'node:stream';
import type { Stamp } from '#shared/read-models/collections.ts';

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
