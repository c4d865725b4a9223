/** Splits a stream of bytes into lines, holding never more than one line of a bounded length. */

export interface Line {
  /** From 1 on. */
  number: number;
  /** Without its end; `null` where the line is longer than allowed. */
  bytes: Buffer | null;
  /** Its length without its end. */
  length: number;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export class LineSplitter {
  readonly #maxBytes: number;
  #number = 0;
  /** What came of the unfinished line so far. */
  #parts: Buffer[] = [];
  #length = 0;
  #endsWithReturn = false;

  /** @param maxBytes of a longer line nothing is kept but its number and length. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in this chunk. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#append(chunk.subarray(start, end));
      lines.push(this.#finish());
      start = end + 1;
    }
    if (start < chunk.length) this.#append(chunk.subarray(start));
    return lines;
  }

  /** The last line, if it has no end. */
  end(): Line[] {
    return this.#length > 0 ? [this.#finish()] : [];
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    this.#length += part.length;
    this.#endsWithReturn = part.at(-1) === CARRIAGE_RETURN;
    // One byte more than allowed: it may be the carriage return of the line's end.
    if (this.#length > this.#maxBytes + 1) this.#parts = [];
    else this.#parts.push(part);
  }

  #finish(): Line {
    const length = this.#length - (this.#endsWithReturn ? 1 : 0);
    const bytes = length > this.#maxBytes ? null : joined(this.#parts, length);
    this.#number += 1;
    this.#parts = [];
    this.#length = 0;
    this.#endsWithReturn = false;
    return { number: this.#number, bytes, length };
  }
}

/** Most lines lie in one chunk and need no copy. */
function joined(parts: Buffer[], length: number): Buffer {
  const [only] = parts;
  const whole = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
  return whole.length === length ? whole : whole.subarray(0, length);
}
