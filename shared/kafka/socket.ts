/**
 * Connections to Kafka that notice when nobody answers any longer. A link may forget a connection without a word, and kafkajs
 * goes on asking on it: a request that times out does not end its connection.
 *
 * Requests and answers are preceded by their length, and a broker answers the requests of a connection in their order
 * (https://kafka.apache.org/protocol.html): the oldest that is not answered tells whether the broker is still there.
 */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectByTls, type ConnectionOptions } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const LOOK_MS = 1_000;
const LENGTH_BYTES = 4;

/** What a broker answers by itself: Fetch (with our short waits), ListOffsets, Metadata, FindCoordinator, Heartbeat, ApiVersions. */
const ANSWERED_AT_ONCE = new Set([1, 2, 3, 10, 12, 18]);

export interface AnswerLimits {
  /** The longest that a broker may take to tell what it knows, in milliseconds. */
  atOnceMs: number;
  /** The longest that it may take for what others must do first: members of a group, other copies. */
  othersMs: number;
}

/** Makes connections that end when something was asked and is not answered in time. */
export function kafkaSockets({ atOnceMs, othersMs }: AnswerLimits): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const socket = open(host, port, ssl ?? null, onConnect);
    socket.setKeepAlive(true, 60_000);
    const asked: { at: number; limitMs: number }[] = [];
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    // kafkajs writes each request at once.
    const writeRequest = (request: unknown, ...rest: unknown[]): boolean => {
      asked.push({ at: performance.now(), limitMs: isAnsweredAtOnce(request) ? atOnceMs : othersMs });
      return write(request, ...rest);
    };
    socket.write = writeRequest;
    const count = countFrames();
    socket.on('data', (chunk: Buffer) => {
      asked.splice(0, count(chunk));
      // The broker turns to the next one only now.
      if (asked[0] !== undefined) asked[0].at = performance.now();
    });
    const timer = setInterval(() => {
      const [oldest] = asked;
      if (oldest === undefined || performance.now() - oldest.at <= oldest.limitMs) return;
      socket.destroy(new Error(`no answer from ${host}:${port} for ${oldest.limitMs} ms`));
    }, LOOK_MS);
    timer.unref();
    socket.once('close', () => clearInterval(timer));
    return socket;
  };
}

/** By TLS where kafkajs is told of it. A certificate is for a name: an address is compared as one. */
function open(host: string, port: number, ssl: ConnectionOptions | null, onConnect: () => void): Socket {
  if (ssl === null) return connect({ host, port }, onConnect);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectByTls({ host, port, ...name, ...ssl }, onConnect);
}

/** Whether a request is one that needs nobody but the broker: it says so behind its length. */
function isAnsweredAtOnce(request: unknown): boolean {
  return (
    Buffer.isBuffer(request) &&
    request.length >= LENGTH_BYTES + 2 &&
    ANSWERED_AT_ONCE.has(request.readInt16BE(LENGTH_BYTES))
  );
}

/** Counts how many answers end in each of the chunks of a stream. */
function countFrames(): (chunk: Buffer) => number {
  const head = Buffer.alloc(LENGTH_BYTES);
  let headBytes = 0;
  /** What is still to come of the answer whose length is known. */
  let missing = 0;
  return (chunk) => {
    let ended = 0;
    for (let at = 0; at < chunk.length;) {
      if (headBytes < LENGTH_BYTES) {
        const copied = chunk.copy(head, headBytes, at, at + LENGTH_BYTES - headBytes);
        headBytes += copied;
        at += copied;
        if (headBytes < LENGTH_BYTES) break;
        missing = head.readInt32BE();
      } else {
        const taken = Math.min(missing, chunk.length - at);
        missing -= taken;
        at += taken;
      }
      if (missing === 0 && headBytes === LENGTH_BYTES) {
        ended += 1;
        headBytes = 0;
      }
    }
    return ended;
  };
}
