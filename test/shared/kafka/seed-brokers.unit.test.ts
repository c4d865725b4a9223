import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstToAnswer, seedBrokers } from '#shared/kafka/connection.ts';

describe('the brokers that a client begins with', () => {
  const asked: Buffer[] = [];
  // One takes connections and never answers, as a frozen broker does.
  const servers: Server[] = [
    createServer((socket) => void socket.on('error', () => undefined)),
    createServer((socket) => socket.on('data', (request: Buffer) => asked.push(request) && socket.write('answer'))),
    createServer((socket) => socket.end()),
  ];
  let [frozen, answers, closes] = ['', '', ''];
  beforeAll(async () => {
    const addresses: string[] = [];
    for (const server of servers) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      addresses.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    }
    [frozen = '', answers = '', closes = ''] = addresses;
  });
  afterAll(() => servers.forEach((server) => server.close()));

  it('are the one that answers first, whichever is named first', async () => {
    const started = performance.now();
    expect(await seedBrokers([frozen, closes, '127.0.0.1:1', answers], undefined)).toEqual([answers]);
    expect(performance.now() - started).toBeLessThan(2_900);
    // A request of kind 18 and version 0, from nobody in particular.
    expect(asked[0]?.toString('hex')).toBe('0000000a0012000000000000ffff');
  });

  it('are all where none answers, and a command is told why', async () => {
    expect(await seedBrokers([closes, '127.0.0.1:1'], undefined)).toEqual([closes, '127.0.0.1:1']);
    await expect(firstToAnswer(['127.0.0.1:1'], undefined)).rejects.toThrow('ECONNREFUSED');
    await expect(firstToAnswer([closes], undefined)).rejects.toThrow('closed the connection');
    await expect(firstToAnswer([frozen], undefined)).rejects.toThrow(`no answer from ${frozen} within 3 s`);
  });
});
