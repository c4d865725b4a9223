import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { rebalanceMs } from '#shared/kafka.ts';
import { kafkaSockets } from '#shared/kafka-socket.ts';

const ANSWER_MS = 500;

const servers: Server[] = [];
const ends: Socket[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A connection to a server that does with what it is asked what it is told to. */
async function connectTo(onAsked: (end: Socket) => void): Promise<Socket> {
  const server = createServer((end) => {
    ends.push(end);
    end.on('data', () => onAsked(end));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { promise: connected, resolve: onConnect } = Promise.withResolvers<void>();
  const socket = kafkaSockets(ANSWER_MS)({ host: '127.0.0.1', port, ssl: {}, onConnect });
  ends.push(socket);
  await connected;
  return socket;
}

describe('a connection to Kafka', () => {
  it('ends when it was asked something and nobody answers', async () => {
    const socket = await connectTo(() => undefined);
    socket.write('asked');
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toMatch(/^no answer from 127\.0\.0\.1:\d+ for 500 ms$/);
  });

  it('stays while it is asked nothing, and where it is answered', async () => {
    const [idle, answered] = await Promise.all([
      connectTo(() => undefined),
      connectTo((end) => end.write('answer')),
    ]);
    answered.write('asked');
    await sleep(2_500);
    expect([idle.destroyed, answered.destroyed]).toEqual([false, false]);
  });
});

it('is given as long as a group waits for a member that is gone, but never less than ten seconds', () => {
  expect(rebalanceMs({ sessionTimeoutMs: 6_000 })).toBe(10_000);
  expect(rebalanceMs({ sessionTimeoutMs: 45_000 })).toBe(45_000);
});
