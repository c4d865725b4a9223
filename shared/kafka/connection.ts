/**
 * Connections to Kafka: the first broker, TLS and SASL, and sockets that close when the broker is silent, since kafkajs keeps a connection
 * that a NAT dropped. Messages begin with their length, and a broker answers in order (https://kafka.apache.org/protocol.html): so the
 * oldest unanswered request shows whether it is alive.
 */
import type { Socket } from 'node:net';
import { createRequire } from 'node:module';
import type { ISocketFactory, ISocketFactoryArgs, KafkaConfig, SASLOptions } from 'kafkajs';
import { readPassword, readTlsFiles } from '../config/files.ts';
import type { Config } from '../config.ts';
import { unavailable } from '../errors.ts';

const require = createRequire(import.meta.url);

/** Uses TLS if it gets options for it. */
const openSocket = (require('kafkajs/src/network/socketFactory') as () => SocketFactory)();

/** Without TLS kafkajs gives no options for it, whatever its types say. */
type SocketFactory = (
  socket: Omit<ISocketFactoryArgs, 'ssl'> & { ssl: KafkaConfig['ssl'] },
) => Socket;

const CHECK_MS = 1_000;
const LENGTH_BYTES = 4;

/** Correlation id of an answer: a shorter frame has none. */
const MIN_FRAME_BYTES = 4;

/**
 * Answered from a broker's own state: Fetch (with our short waits), ListOffsets, Metadata,
 * FindCoordinator, Heartbeat, ApiVersions.
 */
const ANSWERED_AT_ONCE = new Set([1, 2, 3, 10, 12, 18]);

interface PendingRequest {
  at: number;
  limitMs: number;
}

interface Connection {
  socket: Socket;
  pending: PendingRequest[];
  heardAt: number;
}

/**
 * Ends a connection with an overdue answer, and every equally silent one to that broker: a NAT that dropped one dropped others.
 * @param atOnceMs for answers from the broker's own state. @param othersMs for those that wait for members of a group or other copies.
 */
export function kafkaSockets(atOnceMs: number, othersMs: number): ISocketFactory {
  const brokers = new Map<string, Set<Connection>>();
  return (to) => {
    const address = `${to.host}:${to.port}`;
    const socket = openSocket(to);
    const connection: Connection = { socket, pending: [], heardAt: performance.now() };
    const connections = brokers.get(address) ?? new Set();
    brokers.set(address, connections.add(connection));
    const { pending } = connection;
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    // kafkajs writes each request in one piece.
    const writeRequest = (request: unknown, ...rest: unknown[]): boolean => {
      const limitMs = ANSWERED_AT_ONCE.has(kindOf(request)) ? atOnceMs : othersMs;
      pending.push({ at: performance.now(), limitMs });
      return write(request, ...rest);
    };
    socket.write = writeRequest;
    const count = countFrames();
    socket.on('data', (chunk: Buffer) => {
      connection.heardAt = performance.now();
      const answers = count(chunk);
      // kafkajs, which reads after us, would throw or read for ever.
      if (answers === null)
        socket.destroy(new Error(`the answer of ${address} is not a Kafka frame`));
      pending.splice(0, answers ?? 0);
      // The broker begins the next request only now.
      if (pending[0] !== undefined) pending[0].at = connection.heardAt;
    });
    const isLate = ({ at, limitMs }: PendingRequest) => performance.now() - at > limitMs;
    const check = () => {
      const [oldest] = pending;
      if (oldest === undefined || !isLate(oldest)) return;
      // After a pause of this process, timers fire before it reads answers that have arrived.
      setImmediate(() => {
        if (pending[0] !== oldest || !isLate(oldest) || !connections.has(connection)) return;
        const silent = [...connections].filter((other) => other.heardAt < oldest.at);
        for (const one of new Set([connection, ...silent])) {
          one.socket.destroy(new Error(`no answer from ${address} for ${oldest.limitMs} ms`));
        }
      });
    };
    const checking = setInterval(check, CHECK_MS);
    socket.once('close', () => {
      clearInterval(checking);
      connections.delete(connection);
    });
    return socket;
  };
}

function kindOf(request: unknown): number {
  const isRequest = Buffer.isBuffer(request) && request.length >= LENGTH_BYTES + 2;
  return isRequest ? request.readInt16BE(LENGTH_BYTES) : -1;
}

/** Counts the answers that end in each chunk of a stream; `null` once a size is impossible. */
function countFrames(): (chunk: Buffer) => number | null {
  const head = Buffer.alloc(LENGTH_BYTES);
  let headBytes = 0;
  /** Missing bytes of the current answer. */
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
        if (missing < MIN_FRAME_BYTES) return null;
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

const ANSWER_MS = 3_000;

/**
 * ApiVersions in version 0, which every broker answers before authentication
 * (https://kafka.apache.org/protocol.html).
 */
const API_VERSIONS = Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);

/**
 * The first broker that answers, or all. kafkajs tries them in turn, and waits seconds for a frozen
 * one, which accepts connections.
 */
export async function seedBrokers(
  brokers: readonly string[],
  ssl: KafkaConfig['ssl'],
): Promise<string[]> {
  if (brokers.length === 1) return [...brokers];
  try {
    return [await firstToAnswer(brokers, ssl)];
  } catch {
    return [...brokers];
  }
}

/** The first broker that answers. @throws the failure of the first in the list if none does. */
export async function firstToAnswer(
  brokers: readonly string[],
  ssl: KafkaConfig['ssl'],
): Promise<string> {
  const asked = brokers.map((broker) => ask(broker, ssl));
  try {
    return await Promise.any(asked.map(({ answered }) => answered)).catch(
      ({ errors: [first] }: AggregateError) => {
        throw first;
      },
    );
  } finally {
    for (const { socket } of asked) socket.destroy();
  }
}

function ask(
  broker: string,
  ssl: KafkaConfig['ssl'],
): { socket: Socket; answered: Promise<string> } {
  const colon = broker.lastIndexOf(':');
  const host = broker.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(broker.slice(colon + 1));
  const socket = openSocket({ host, port, ssl, onConnect: () => socket.write(API_VERSIONS) });
  const answered = new Promise<string>((resolve, reject) => {
    socket.setTimeout(ANSWER_MS, () => {
      socket.destroy();
      reject(new Error(`no answer from ${broker} within ${ANSWER_MS / 1_000} s`));
    });
    socket.once('data', () => resolve(broker));
    socket.on('error', reject);
    socket.once('close', () => reject(new Error(`${broker} closed the connection`)));
  });
  return { socket, answered };
}

const TOKEN_TIMEOUT_MS = 5_000;

export function kafkaSecurity({ tls, sasl }: Config['kafka']): Pick<KafkaConfig, 'ssl' | 'sasl'> {
  return {
    ...(tls.enabled && { ssl: readTlsFiles(tls) }),
    ...(sasl.mechanism !== null && { sasl: saslOf(sasl.mechanism, sasl) }),
  };
}

type Sasl = Config['kafka']['sasl'];

function saslOf(mechanism: NonNullable<Sasl['mechanism']>, sasl: Sasl): SASLOptions {
  const credentials = { username: sasl.username ?? '', password: readPassword(sasl) ?? '' };
  if (mechanism !== 'oauthbearer') return { mechanism, ...credentials };
  return { mechanism, oauthBearerProvider: () => fetchToken(sasl, credentials) };
}

/**
 * A token by the client credentials grant (RFC 6749 section 4.4); kafkajs asks for one with each
 * connection.
 */
async function fetchToken(
  { tokenUrl, scope }: Sasl,
  { username, password }: { username: string; password: string },
) {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope !== null && { scope }),
  });
  const failed = (why: string, cause?: unknown) => unavailable(`no token for Kafka: ${why}`, cause);
  const response = await fetch(tokenUrl ?? '', {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    },
    body: form,
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw failed('its endpoint cannot be reached', error);
  });
  if (!response.ok) throw failed(`its endpoint answered ${response.status}`);
  const { access_token: token } = (await response.json()) as { access_token?: unknown };
  if (typeof token !== 'string') throw failed('its endpoint answered without a token');
  return { value: token };
}
