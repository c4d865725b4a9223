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
  return decoder(bytes).document();
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
  const open = decoder(cursor).cursorId();
  if (!open.isZero()) return { open };
  return { rows: (decoder(cursor, known).document() as { firstBatch: Decoded[] }).firstBatch };
}

/** The name `_id` with its final NUL, as a number. */
const ID_NAME = Buffer.from('_id\0').readUInt32LE();

function decoder({ buffer, byteOffset, byteLength }: Uint8Array, known: KnownRows | null = null) {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  let at = 0;

  function document(): Decoded {
    const made: Decoded = {};
    at += 4;
    for (let next = type(); next !== 0; next = type()) {
      const member = name();
      made[member] = value(next, member);
    }
    return made;
  }

  /** The `id` of a cursor, without its batch. */
  function cursorId(): Long {
    at += 4;
    for (let next = type(); next !== 0; next = type()) {
      const member = name();
      if (member === 'id') return bits();
      if (next === 0x04) at += bytes.readInt32LE(at);
      else value(next, member);
    }
    throw new TypeError('a reply of MongoDB has no cursor');
  }

  function array(rows: KnownRows | null): unknown[] {
    const values: unknown[] = [];
    at += 4;
    for (let next = type(); next !== 0; next = type()) {
      at = bytes.indexOf(0, at) + 1;
      values.push(rows === null ? value(next, '') : row(rows));
    }
    return values;
  }

  /** The next document, or the known row with the same bytes. */
  function row(rows: KnownRows): Decoded {
    const from = at;
    const store = storeId(from);
    if (store === null) return document();
    const end = from + bytes.readInt32LE(from);
    const before = rows.get(store);
    if (
      before !== undefined &&
      bytes.compare(before.bytes, 0, before.bytes.length, from, end) === 0
    ) {
      at = end;
      return before.row;
    }
    const made = document();
    // A copy: the slice would keep the whole reply in memory.
    rows.set(store, { bytes: Buffer.from(bytes.subarray(from, end)), row: made });
    return made;
  }

  /** The `_id` of a document that begins with the id of a store: other ids hold a slash. */
  function storeId(from: number): string | null {
    const nameAt = from + 5;
    if (bytes[nameAt - 1] !== 0x02 || bytes.readUInt32LE(nameAt) !== ID_NAME) return null;
    const idAt = nameAt + 8;
    const id = bytes.toString('utf8', idAt, bytes.indexOf(0, idAt));
    return id.includes('/') ? null : id;
  }

  function type(): number {
    at += 1;
    return bytes[at - 1] ?? 0;
  }

  function name(): string {
    const end = bytes.indexOf(0, at);
    const text = bytes.toString('utf8', at, end);
    at = end + 1;
    return text;
  }

  function value(kind: number, member: string): unknown {
    const from = at;
    switch (kind) {
      case 0x01:
        at += 8;
        return bytes.readDoubleLE(from);
      case 0x02:
        return string(member);
      case 0x03:
        return document();
      case 0x04:
        return array(member === 'firstBatch' ? known : null);
      case 0x05:
        at += 5 + bytes.readInt32LE(from);
        return new Binary(bytes.subarray(from + 5, at), bytes[from + 4]);
      case 0x08:
        at += 1;
        return bytes[from] === 1;
      case 0x09:
        return new Date(long());
      case 0x0a:
        return null;
      case 0x10:
        at += 4;
        return bytes.readInt32LE(from);
      case 0x11:
      case 0x12:
        return long();
      default:
        throw new TypeError(
          `a reply of MongoDB holds the type ${kind}, which our documents do not have`,
        );
    }
  }

  function string(member: string): string {
    const from = at + 4;
    at = from + bytes.readInt32LE(at);
    const end = at - 1;
    return BODIES.has(member)
      ? bytes.toString('latin1', from, end)
      : bytes.toString('utf8', from, end);
  }

  /** All of its 64 bits count. */
  function bits(): Long {
    const from = at;
    at += 8;
    return Long.fromBits(bytes.readInt32LE(from), bytes.readInt32LE(from + 4));
  }

  /** A value beyond 2^53 loses digits; no decision depends on one. */
  function long(): number {
    const from = at;
    at += 8;
    return bytes.readInt32LE(from + 4) * 4_294_967_296 + bytes.readUInt32LE(from);
  }

  return { document, cursorId };
}
