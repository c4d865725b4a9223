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
import { PeriodicTask } from '../periodic-task.ts';

const LOOK_MS = 1_000;
const LENGTH_BYTES = 4;

/** What a broker answers by itself: Fetch (with our short waits), ListOffsets, Metadata, FindCoordinator, Heartbeat, ApiVersions. */
const ANSWERED_AT_ONCE = new Set([1, 2, 3, 10, 12, 18]);

/** JoinGroup and SyncGroup. */
const WAITS_FOR_GROUP = new Set([11, 14]);

export interface AnswerLimits {
  /** The longest that a broker may take to tell what it knows, in milliseconds. */
  atOnceMs: number;
  /** The longest that it may take for what others must do first: members of a group, other copies. */
  othersMs: number;
}

interface Asked {
  at: number;
  limitMs: number;
  /** Whether it may be answered only once others have joined the group. */
  waitsForGroup: boolean;
}

interface Connection {
  socket: Socket;
  asked: Asked[];
  heardAt: number;
}

/**
 * Makes connections that end when something was asked and is not answered in time. What forgets one forgets others, each of which
 * would be found in turn: with it end all to the same broker that have been as silent since.
 */
export function kafkaSockets({ atOnceMs, othersMs }: AnswerLimits): ISocketFactory {
  const brokers = new Map<string, Set<Connection>>();
  return ({ host, port, ssl, onConnect }) => {
    const address = `${host}:${port}`;
    const socket = open(host, port, ssl ?? null, onConnect);
    socket.setKeepAlive(true, 60_000);
    const connection: Connection = { socket, asked: [], heardAt: performance.now() };
    const connections = brokers.get(address) ?? new Set();
    brokers.set(address, connections.add(connection));
    const { asked } = connection;
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    // kafkajs writes each request at once.
    const writeRequest = (request: unknown, ...rest: unknown[]): boolean => {
      const kind = kindOf(request);
      const limitMs = ANSWERED_AT_ONCE.has(kind) ? atOnceMs : othersMs;
      asked.push({ at: performance.now(), limitMs, waitsForGroup: WAITS_FOR_GROUP.has(kind) });
      return write(request, ...rest);
    };
    socket.write = writeRequest;
    const count = countFrames();
    socket.on('data', (chunk: Buffer) => {
      connection.heardAt = performance.now();
      asked.splice(0, count(chunk));
      // The broker turns to the next one only now.
      if (asked[0] !== undefined) asked[0].at = connection.heardAt;
    });
    const isLate = ({ at, limitMs }: Asked) => performance.now() - at > limitMs;
    const look = () => {
      const [oldest] = asked;
      if (oldest === undefined || !isLate(oldest)) return Promise.resolve();
      // Where this process stood still, its timers come before it reads what was answered meanwhile.
      setImmediate(() => {
        if (asked[0] !== oldest || !isLate(oldest) || !connections.has(connection)) return;
        const silent = [...connections].filter(
          (other) => other.heardAt < oldest.at && other.asked[0]?.waitsForGroup !== true,
        );
        for (const one of new Set([connection, ...silent])) {
          one.socket.destroy(new Error(`no answer from ${address} for ${oldest.limitMs} ms`));
        }
      });
      return Promise.resolve();
    };
    const looking = new PeriodicTask({ run: look, everyMs: LOOK_MS, failed: () => undefined });
    socket.once('close', () => {
      void looking.stop();
      connections.delete(connection);
    });
    return socket;
  };
}

/** By TLS where kafkajs is told of it. A certificate is for a name: an address is compared as one. */
function open(host: string, port: number, ssl: ConnectionOptions | null, onConnect: () => void): Socket {
  if (ssl === null) return connect({ host, port }, onConnect);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectByTls({ host, port, ...name, ...ssl }, onConnect);
}

/** The kind of a request, which it says behind its length; -1 where it does not. */
function kindOf(request: unknown): number {
  const isRequest = Buffer.isBuffer(request) && request.length >= LENGTH_BYTES + 2;
  return isRequest ? request.readInt16BE(LENGTH_BYTES) : -1;
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
