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

const NOTHING = { all: 0, largest: 0 };

export function unreadAnswers(metrics: QueryMetrics) {
  const answers = new Map<ServerResponse, Unread>();
  let bytes = 0;
  /** By sender: of all its answers, and of the largest. */
  const bytesOf = new Map<string, { all: number; largest: number }>();
  let limit = MAX_SENDER_BYTES;

  function add(request: IncomingMessage, response: ServerResponse, sender: string): void {
    answers.set(response, { request, sender, began: null });
    response.once('close', () => answers.delete(response));
  }

  /**
   * Whether a sender has too many unread bytes to get more, if each of its answers that are being
   * made is as large as the largest.
   */
  function isFull(sender: string, beingMade = 0): boolean {
    const { all, largest } = bytesOf.get(sender) ?? NOTHING;
    return all + beingMade * largest > limit;
  }

  /** Measures all answers, and cuts those that are read too slowly, the largest first. */
  function check(now: number): void {
    bytes = 0;
    bytesOf.clear();
    for (const [response, answer] of answers) {
      const { socket } = answer.request;
      // Node does not close the responses that wait for an earlier one.
      if (socket.destroyed) answers.delete(response);
      else count(answer.sender, response.writableLength);
      if (response.socket !== null) {
        answer.began ??= { at: now, bytesBefore: socket.bytesWritten - response.writableLength };
      }
    }
    // Senders with more than an equal share make room.
    limit = bytes > MAX_BYTES ? MAX_BYTES / bytesOf.size : MAX_SENDER_BYTES;
    const largestFirst = [...answers].toSorted(
      ([one], [other]) => other.writableLength - one.writableLength,
    );
    for (const [response, { request, sender, began }] of largestFirst) {
      if (began === null) continue;
      const { patienceMs, bytesPerMs } = isFull(sender) ? WHILE_FULL : ALWAYS;
      const allowedMs = patienceMs + (request.socket.bytesWritten - began.bytesBefore) / bytesPerMs;
      if (now - began.at <= allowedMs) continue;
      count(sender, -response.writableLength);
      metrics.cutAnswers.inc();
      request.socket.destroy();
    }
    metrics.unreadBytes.set(bytes);
  }

  function count(sender: string, more: number): void {
    bytes += more;
    const { all, largest } = bytesOf.get(sender) ?? NOTHING;
    bytesOf.set(sender, { all: all + more, largest: Math.max(largest, more) });
  }

  return {
    get size() {
      return answers.size;
    },
    add,
    isFull,
    check,
  };
}
