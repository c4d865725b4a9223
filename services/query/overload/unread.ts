/**
 * Answers that only their clients have to read. Each must be read in the time that its size allows,
 * and the unread bytes of one sender and of all are bounded (decision 0047).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { QueryMetrics } from '../metrics.ts';

/**
 * Beside cached menus (96 MiB) and the answers being made, they must fit into the memory of a
 * container.
 */
const MAX_BYTES = 134_217_728;
/** Eight of the largest pages (4 MiB), or some seconds of a fast connection. */
const MAX_SENDER_BYTES = 33_554_432;
/** How fast an answer must be read: always, and while its sender has too many unread bytes. */
const ALWAYS = { patienceMs: 60_000, bytesPerMs: 32 };
const WHILE_FULL = { patienceMs: 1_000, bytesPerMs: 1_048 };

interface Unread {
  request: IncomingMessage;
  sender: string;
  /**
   * When its connection began to send it, and the bytes sent before; `null` while an earlier answer
   * is sent.
   */
  began: { at: number; bytesBefore: number } | null;
}

export class UnreadAnswers {
  readonly #metrics: QueryMetrics;
  readonly #answers = new Map<ServerResponse, Unread>();
  #bytes = 0;
  /** By sender: of all its answers, and of the largest. */
  readonly #bytesOf = new Map<string, { all: number; largest: number }>();
  #limit = MAX_SENDER_BYTES;

  constructor(metrics: QueryMetrics) {
    this.#metrics = metrics;
  }

  get size(): number {
    return this.#answers.size;
  }

  add(request: IncomingMessage, response: ServerResponse, sender: string): void {
    this.#answers.set(response, { request, sender, began: null });
    response.once('close', () => this.#answers.delete(response));
  }

  /**
   * Whether a sender has too many unread bytes to get more, if each of its answers that are being
   * made is as large as the largest.
   */
  isFull(sender: string, beingMade = 0): boolean {
    const { all, largest } = this.#bytesOf.get(sender) ?? { all: 0, largest: 0 };
    return all + beingMade * largest > this.#limit;
  }

  /** Measures all answers, and cuts those that are read too slowly, the largest first. */
  check(now: number): void {
    this.#bytes = 0;
    this.#bytesOf.clear();
    for (const [response, answer] of this.#answers) {
      const { socket } = answer.request;
      // Node does not close the responses that wait for an earlier one.
      if (socket.destroyed) this.#answers.delete(response);
      else this.#count(answer.sender, response.writableLength);
      if (response.socket !== null) {
        answer.began ??= { at: now, bytesBefore: socket.bytesWritten - response.writableLength };
      }
    }
    // Senders with more than an equal share make room.
    this.#limit = this.#bytes > MAX_BYTES ? MAX_BYTES / this.#bytesOf.size : MAX_SENDER_BYTES;
    const largestFirst = [...this.#answers].toSorted(
      ([one], [other]) => other.writableLength - one.writableLength,
    );
    for (const [response, { request, sender, began }] of largestFirst) {
      if (began === null) continue;
      const { patienceMs, bytesPerMs } = this.isFull(sender) ? WHILE_FULL : ALWAYS;
      const allowedMs = patienceMs + (request.socket.bytesWritten - began.bytesBefore) / bytesPerMs;
      if (now - began.at <= allowedMs) continue;
      this.#count(sender, -response.writableLength);
      this.#metrics.cutAnswers.inc();
      request.socket.destroy();
    }
    this.#metrics.unreadBytes.set(this.#bytes);
  }

  #count(sender: string, bytes: number): void {
    this.#bytes += bytes;
    const { all, largest } = this.#bytesOf.get(sender) ?? { all: 0, largest: 0 };
    this.#bytesOf.set(sender, { all: all + bytes, largest: Math.max(largest, bytes) });
  }
}
