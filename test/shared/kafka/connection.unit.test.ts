import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createQuietKafka, rebalanceMs } from '#shared/kafka/client.ts';
import { firstToAnswer, kafkaSockets, seedBrokers } from '#shared/kafka/connection.ts';

const LIMITS = { atOnceMs: 500, othersMs: 2_500 };
/** For connections that must not end: a busy machine may stall longer than the usual timeout. */
const PATIENT = { atOnceMs: 3_000, othersMs: 3_000 };
const FETCH = 1;
const JOIN_GROUP = 11;

const servers: Server[] = [];
const ends: Socket[] = [];
afterAll(() => {
  for (const end of ends) end.destroy();
  for (const server of servers) server.close();
});

/** Starts a server. @returns its port. */
async function serve(onConnection: (end: Socket) => void): Promise<number> {
  const server = createServer((end) => {
    ends.push(end.on('error', () => undefined));
    onConnection(end);
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A connection to a server that handles each request. */
async function connectTo(onAsked: (end: Socket) => void, limits = LIMITS): Promise<Socket> {
  const [socket] = await connectAll(1, onAsked, limits);
  if (socket === undefined) throw new Error('there is no connection');
  return socket;
}

/** Successive connections of one client to such a server. */
async function connectAll(
  length: number,
  onAsked: (end: Socket) => void,
  limits = LIMITS,
): Promise<Socket[]> {
  const port = await serve((end) => end.on('data', () => onAsked(end)));
  // kafkajs passes this without TLS, contrary to its types.
  const ssl = null as unknown as ConnectionOptions;
  const make = kafkaSockets(limits.atOnceMs, limits.othersMs);
  const sockets: Socket[] = [];
  for (let index = 0; index < length; index += 1) {
    const { promise: connected, resolve: onConnect } = Promise.withResolvers<void>();
    const socket = make({ host: '127.0.0.1', port, ssl, onConnect });
    // Connections may end after the test.
    ends.push(socket.on('error', () => undefined));
    await connected;
    sockets.push(socket);
  }
  return sockets;
}

/** A length-prefixed request or answer. */
function frame(apiKey: number, bytes = 10): Buffer {
  const buffer = Buffer.alloc(4 + bytes);
  buffer.writeInt32BE(bytes);
  buffer.writeInt16BE(apiKey, 4);
  return buffer;
}

/** The milliseconds until a connection ended, and its error. */
async function ended(socket: Socket): Promise<{ after: number; message: string }> {
  const began = performance.now();
  const [error] = (await once(socket, 'error')) as [Error];
  return { after: performance.now() - began, message: error.message };
}

// Concurrent, since the tests mostly wait.
describe.concurrent('a connection to Kafka', () => {
  it.each([
    ['ends when a broker does not answer a request that it can answer alone', [FETCH], 500],
    [
      'waits longer for requests that depend on others, and for requests after them',
      [JOIN_GROUP, FETCH],
      2_500,
    ],
    [
      'does not wait longer because of a request after the unanswered one',
      [FETCH, JOIN_GROUP],
      500,
    ],
  ])('%s', async (_what, requests, limit) => {
    let isFirst = true;
    const socket = await connectTo((end) => {
      if (isFirst) end.write(frame(FETCH));
      isFirst = false;
    });
    socket.write(frame(FETCH));
    await once(socket, 'data');
    for (const request of requests) socket.write(frame(request));
    const { after, message } = await ended(socket);
    expect(message).toMatch(new RegExp(`^no answer from 127\\.0\\.0\\.1:\\d+ for ${limit} ms$`));
    expect(after).toBeGreaterThan(limit - 100);
  });

  it('ends with another unanswered one, unless it received data since', async () => {
    const answering = new Set<number | undefined>();
    const [asked, idle, answered] = await connectAll(3, (end) => {
      if (answering.has(end.remotePort)) end.write(frame(FETCH));
    });
    answering.add(answered?.localPort);
    asked?.write(frame(FETCH));
    const talking = setInterval(() => answered?.write(frame(FETCH)), 50);
    const over = await Promise.all(
      [asked, idle].map(async (socket) => socket && (await ended(socket))),
    );
    clearInterval(talking);
    for (const end of over) expect(end?.message).toMatch(/^no answer .* for 500 ms$/);
    expect(answered?.destroyed).toBe(false);
  });

  it('stays open while idle, and with answers in pieces or together', async () => {
    const [idle, answered] = await Promise.all([
      connectTo(() => undefined),
      connectTo((end) => {
        const answers = Buffer.concat([frame(FETCH, 300), frame(FETCH, 4)]);
        end.write(answers.subarray(0, 3));
        setTimeout(() => end.write(answers.subarray(3, 7)), 20);
        setTimeout(() => end.write(answers.subarray(7)), 40);
      }, PATIENT),
    ]);
    // Both answers in one packet.
    answered.cork();
    answered.write(frame(FETCH));
    answered.write(frame(FETCH));
    answered.uncork();
    await sleep(PATIENT.atOnceMs + 500);
    expect([idle.destroyed, answered.destroyed]).toEqual([false, false]);
  });
});

it('a connection stays open if the answer arrived while this process was stalled', async () => {
  const socket = await connectTo((end) => {
    end.write(frame(FETCH));
    const until = performance.now() + 3 * LIMITS.atOnceMs;
    while (performance.now() < until);
  });
  socket.write(frame(FETCH));
  // Rejects if it ends.
  await once(socket, 'data');
  expect(socket.destroyed).toBe(false);
});

it.each([
  [-1, 'is not a Kafka frame'],
  [3, 'is not a Kafka frame'],
  [4, 'outside buffer bounds'],
])('an answer of %i bytes fails the request, and nothing else: %s', async (bytes, why) => {
  const answer = Buffer.alloc(4 + Math.max(0, bytes));
  answer.writeInt32BE(bytes);
  const port = await serve((end) => end.on('data', () => end.write(answer)));
  const admin = createQuietKafka('test', [`127.0.0.1:${port}`], {
    socketFactory: kafkaSockets(PATIENT.atOnceMs, PATIENT.othersMs),
    retry: { retries: 0 },
  }).admin();
  await expect(admin.connect()).rejects.toThrow(why);
});

it('the limit is the group’s rebalance timeout, but at least ten seconds', () => {
  expect(rebalanceMs({ sessionTimeoutMs: 6_000 })).toBe(10_000);
  expect(rebalanceMs({ sessionTimeoutMs: 45_000 })).toBe(45_000);
});

describe('the initial brokers of a client', () => {
  const asked: Buffer[] = [];
  let [frozen, answers, closes] = ['', '', ''];
  beforeAll(async () => {
    const ports = await Promise.all([
      // Accepts connections and never answers, like a frozen broker.
      serve(() => undefined),
      serve((end) =>
        end.on('data', (request: Buffer) => asked.push(request) && end.write('answer')),
      ),
      serve((end) => void end.end()),
    ]);
    [frozen = '', answers = '', closes = ''] = ports.map((port) => `127.0.0.1:${port}`);
  });

  it('are the one that answers first, in any order of names', async () => {
    const started = performance.now();
    expect(await seedBrokers([frozen, closes, '127.0.0.1:1', answers], undefined)).toEqual([
      answers,
    ]);
    expect(performance.now() - started).toBeLessThan(2_900);
    // A request of kind 18 and version 0, without a client name.
    expect(asked[0]?.toString('hex')).toBe('0000000a0012000000000000ffff');
  });

  it('are all if none answers, and a command reports the reason', async () => {
    expect(await seedBrokers([closes, '127.0.0.1:1'], undefined)).toEqual([closes, '127.0.0.1:1']);
    for (const [broker, why] of [
      ['127.0.0.1:1', 'ECONNREFUSED'],
      [closes, 'closed the connection'],
      [frozen, `no answer from ${frozen} within 3 s`],
    ] as const)
      await expect(firstToAnswer([broker], undefined)).rejects.toThrow(why);
  });
});

/** The request queue that kafkajs keeps for a connection. */
interface Queue {
  pending: object[];
  throttledUntil: number;
  throttleCheckTimeoutId: unknown;
  scheduleCheckPendingRequests: () => void;
  destroy: () => void;
}

it('the requests of a connection set a timer only while one waits for the pause of a throttling broker', () => {
  const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as new (
    options: object,
  ) => Queue;
  const queue = new RequestQueue({});
  onTestFinished(() => queue.destroy());
  queue.scheduleCheckPendingRequests();
  expect(queue.throttleCheckTimeoutId).toBeNull();
  queue.pending.push({});
  queue.throttledUntil = Date.now() + 60_000;
  queue.scheduleCheckPendingRequests();
  expect(queue.throttleCheckTimeoutId).not.toBeNull();
});
