/**
 * Reads the documents of MongoDB's replies. The finished JSON that records hold stays bytes: a string with a character for each byte
 * (latin1), which is cut and joined like any text and leaves as it came, neither decoded nor encoded.
 */
import { Binary } from 'mongodb';

/** The fields that hold finished JSON. */
const BODIES: ReadonlySet<string> = new Set([
  'summary',
  'whole',
  'active_summary',
  'dates',
  'before_groups',
  'after_groups',
]);

interface Decoded {
  [name: string]: unknown;
}

/** Reads a document. @throws at a type that no document of ours holds. */
export function decodeDocument(bytes: Uint8Array): Decoded {
  return new Decoder(bytes).document();
}

/** The rows of a cursor's first batch, as `raw` replies have it; `null` where it goes on, so that the rows are not all. */
export function decodeFirstBatch(cursor: Uint8Array): Decoded[] | null {
  const { id, firstBatch } = decodeDocument(cursor);
  return id === 0 ? (firstBatch as Decoded[]) : null;
}

class Decoder {
  readonly #bytes: Buffer;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
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

  #array(): unknown[] {
    const values: unknown[] = [];
    this.#at += 4;
    for (let type = this.#type(); type !== 0; type = this.#type()) {
      this.#at = this.#bytes.indexOf(0, this.#at) + 1;
      values.push(this.#value(type, ''));
    }
    return values;
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
        return this.#array();
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
        throw new TypeError(`a reply of MongoDB holds the type ${type}, which nothing of ours is`);
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

  /** What does not fit into a number is no value that we decide by. */
  #long(): number {
    const from = this.#at;
    this.#at += 8;
    return this.#bytes.readInt32LE(from + 4) * 4_294_967_296 + this.#bytes.readUInt32LE(from);
  }
}
