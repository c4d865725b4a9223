/**
 * Decodes documents of MongoDB's replies. The JSON that records hold is not decoded: it becomes a
 * string with a character for each byte (latin1), which is cut and joined like text and leaves as
 * the same bytes.
 */
import { Binary, Long } from 'mongodb';
import { SHIFTED_FIELDS } from '#shared/records/stored-json.ts';

const BODIES: ReadonlySet<string> = new Set(SHIFTED_FIELDS);

interface Decoded {
  [name: string]: unknown;
}

/** @throws at a type that our documents do not have. */
export function decodeDocument(bytes: Uint8Array): Decoded {
  return new Decoder(bytes).document();
}

/**
 * The last row of a store. It is reused, and so never changed, while the reply has the same bytes.
 */
export interface KnownRow {
  bytes: Buffer;
  row: Decoded;
}

/** By the ids of stores. */
export interface KnownRows {
  get: (id: string) => KnownRow | undefined;
  set: (id: string, row: KnownRow) => unknown;
  delete: (id: string) => unknown;
}

/**
 * The rows in a raw reply; if more follow, only the server's cursor.
 * @param known rows to reuse while equal in bytes.
 */
export function decodeFirstBatch(
  cursor: Uint8Array,
  known: KnownRows | null,
): { rows: Decoded[] } | { open: Long } {
  const open = new Decoder(cursor).cursorId();
  if (!open.isZero()) return { open };
  return { rows: (new Decoder(cursor, known).document() as { firstBatch: Decoded[] }).firstBatch };
}

/** The name `_id` with its final NUL, as a number. */
const ID_NAME = Buffer.from('_id\0').readUInt32LE();

class Decoder {
  readonly #bytes: Buffer;
  readonly #known: KnownRows | null;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array, known: KnownRows | null = null) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.#known = known;
  }

  document(): Decoded {
    const document: Decoded = {};
    this.#at += 4;
    for (let type = this.#type(); type !== 0; type = this.#type()) {
      const name = this.#name();
      document[name] = this.#value(type, name);
    }
    return document;
  }

  /** The `id` of a cursor, without its batch. */
  cursorId(): Long {
    this.#at += 4;
    for (let type = this.#type(); type !== 0; type = this.#type()) {
      const name = this.#name();
      if (name === 'id') return this.#cursorId();
      if (type === 0x04) this.#at += this.#bytes.readInt32LE(this.#at);
      else this.#value(type, name);
    }
    throw new TypeError('a reply of MongoDB has no cursor');
  }

  #array(known: KnownRows | null): unknown[] {
    const values: unknown[] = [];
    this.#at += 4;
    for (let type = this.#type(); type !== 0; type = this.#type()) {
      this.#at = this.#bytes.indexOf(0, this.#at) + 1;
      values.push(known === null ? this.#value(type, '') : this.#row(known));
    }
    return values;
  }

  /** The next document, or the known row with the same bytes. */
  #row(known: KnownRows): Decoded {
    const from = this.#at;
    const id = this.#storeId(from);
    if (id === null) return this.document();
    const end = from + this.#bytes.readInt32LE(from);
    const before = known.get(id);
    if (
      before !== undefined &&
      this.#bytes.compare(before.bytes, 0, before.bytes.length, from, end) === 0
    ) {
      this.#at = end;
      return before.row;
    }
    const row = this.document();
    // A copy: the slice would keep the whole reply in memory.
    known.set(id, { bytes: Buffer.from(this.#bytes.subarray(from, end)), row });
    return row;
  }

  /** The `_id` of a document that begins with the id of a store: other ids hold a slash. */
  #storeId(document: number): string | null {
    const nameAt = document + 5;
    if (this.#bytes[nameAt - 1] !== 0x02 || this.#bytes.readUInt32LE(nameAt) !== ID_NAME)
      return null;
    const at = nameAt + 8;
    const id = this.#bytes.toString('utf8', at, this.#bytes.indexOf(0, at));
    return id.includes('/') ? null : id;
  }

  #type(): number {
    const type = this.#bytes[this.#at] ?? 0;
    this.#at += 1;
    return type;
  }

  #name(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const name = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return name;
  }

  #value(type: number, name: string): unknown {
    const from = this.#at;
    switch (type) {
      case 0x01:
        this.#at += 8;
        return this.#bytes.readDoubleLE(from);
      case 0x02:
        return this.#string(name);
      case 0x03:
        return this.document();
      case 0x04:
        return this.#array(name === 'firstBatch' ? this.#known : null);
      case 0x05:
        this.#at += 5 + this.#bytes.readInt32LE(from);
        return new Binary(this.#bytes.subarray(from + 5, this.#at), this.#bytes[from + 4]);
      case 0x08:
        this.#at += 1;
        return this.#bytes[from] === 1;
      case 0x09:
        return new Date(this.#long());
      case 0x0a:
        return null;
      case 0x10:
        this.#at += 4;
        return this.#bytes.readInt32LE(from);
      case 0x11:
      case 0x12:
        return this.#long();
      default:
        throw new TypeError(
          `a reply of MongoDB holds the type ${type}, which our documents do not have`,
        );
    }
  }

  #string(name: string): string {
    const from = this.#at + 4;
    this.#at = from + this.#bytes.readInt32LE(this.#at);
    const end = this.#at - 1;
    return BODIES.has(name)
      ? this.#bytes.toString('latin1', from, end)
      : this.#bytes.toString('utf8', from, end);
  }

  /** All of its 64 bits count. */
  #cursorId(): Long {
    const from = this.#at;
    this.#at += 8;
    return Long.fromBits(this.#bytes.readInt32LE(from), this.#bytes.readInt32LE(from + 4));
  }

  /** A value beyond 2^53 loses digits; no decision depends on one. */
  #long(): number {
    const from = this.#at;
    this.#at += 8;
    return this.#bytes.readInt32LE(from + 4) * 4_294_967_296 + this.#bytes.readUInt32LE(from);
  }
}
