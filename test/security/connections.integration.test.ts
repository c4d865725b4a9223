/** Clients that hold connections: silent, slow, deaf or very many. They are cut off, and others are answered meanwhile. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiClient, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/installation.ts';
import { PATIENCE } from '#test/patience.ts';
import { type QueryService, startApp, startQueryService } from '#test/query-service.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';

const CONNECTIONS = 10_000;
/** Files that this process and the service need besides. */
const OTHER_FILES = 500;
/** A request must have arrived after 10 s; and machines are busy. */
const PATIENCE_MS = 30_000;

let service: QueryService;
let attacked: ServiceProcess;
let url: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await startQueryService({ settings: PATIENCE });
  await service.setKey({ clientId: 'full' });
  attacked = startService('query', service.installation.env);
  const { url: address } = await attacked.logged(({ msg }) => msg === 'query service started');
  url = String(address);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  attacked.kill('SIGTERM');
  await attacked.ended;
  await service.close();
});

async function open(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

async function openMany(count: number, address = url): Promise<Socket[]> {
  const opened: Socket[] = [];
  while (opened.length < count) {
    const batch = Math.min(250, count - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: batch }, async () => open(address)))));
  }
  return opened;
}

/** All that comes until the server ends the connection. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  // A reset is an end as well.
  socket.on('error', () => undefined);
  if (!socket.closed) await once(socket, 'close');
  return text;
}

/** Sends bytes one at a time until the connection is gone. */
async function drip(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(byte);
    await sleep(400);
  }
}

/** Fails unless a client that behaves gets every answer soon. */
async function expectNormalService(requests = 50): Promise<void> {
  const api = createApiClient(url);
  const token = await api.token('full', 'secret');
  for (let index = 0; index < requests; index += 1) {
    const started = performance.now();
    expect((await api.get('/api/order/list', token)).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(5_000);
  }
}

async function residentMegabytes(): Promise<number> {
  const status = await readFile(`/proc/${attacked.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

describe.concurrent('a connection is ended in time', { timeout: PATIENCE_MS }, () => {
  it('that says nothing', async ({ expect: check }) => {
    const texts = await Promise.all((await openMany(100)).map(readToEnd));
    for (const text of texts) check(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
  });

  it('whose headers come slowly', async ({ expect: check }) => {
    const opened = await openMany(100);
    const ends = opened.map(readToEnd);
    for (const socket of opened) {
      void drip(socket, `GET /api/order/list HTTP/1.1\r\nHost: x\r\n${'X-Slow: 1\r\n'.repeat(100)}`);
    }
    for (const text of await Promise.all(ends)) {
      check(text).toMatch(/^HTTP\/1\.1 408 /);
      check(text).toContain('"code":"invalid_request"');
    }
  });

  it('whose body comes slowly', async ({ expect: check }) => {
    const opened = await openMany(100);
    const ends = opened.map(readToEnd);
    for (const socket of opened) {
      const type = 'Content-Type: application/x-www-form-urlencoded';
      socket.write(`POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: 1000\r\n\r\n`);
      void drip(socket, 'grant_type=client_credentials'.repeat(30));
    }
    for (const text of await Promise.all(ends)) check(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('whose chunks come slowly, or never end', async ({ expect: check }) => {
    const opened = await openMany(50);
    const ends = opened.map(readToEnd);
    for (const socket of opened) {
      socket.write(`POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
      void drip(socket, '1\r\na\r\n'.repeat(200));
    }
    for (const text of await Promise.all(ends)) check(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('whose client takes none of its answers', async ({ expect: check }) => {
    const impatient = await startApp(service.installation.config);
    // What it is otherwise would be half a minute to wait.
    check(impatient.app.server.timeout).toBe(10_000);
    impatient.app.server.timeout = 1_000;
    try {
      const asked = 300;
      const opened = await openMany(5, impatient.url);
      for (const socket of opened) {
        socket.pause();
        socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(asked));
      }
      await sleep(8_000);
      // What the machine itself holds for them comes still.
      const texts = await Promise.all(opened.map((socket) => readToEnd(socket.resume())));
      for (const text of texts) check(text.split('HTTP/1.1 200').length - 1).toBeLessThan(asked);
    } finally {
      await impatient.app.close();
    }
  });

  it('while others are answered', async () => {
    for (let round = 0; round < 8; round += 1) {
      await expectNormalService(10);
      await sleep(1_000);
    }
  });
});

describe('very many connections', { timeout: 120_000 }, () => {
  it('that have had an answer and stay open leave everybody else in peace', async () => {
    const limits = await readFile('/proc/self/limits', 'utf8');
    const files = Number(/Max open files\s+(\d+)/.exec(limits)?.[1]);
    const count = Math.min(CONNECTIONS, files - OTHER_FILES);
    if (count < CONNECTIONS) {
      process.stderr.write(
        `${count} connections instead of ${CONNECTIONS}: this machine allows ${files} files\n`,
      );
    }
    const held: Socket[] = [];
    let answered = 0;
    let ended = 0;
    while (held.length < count) {
      const opened = await openMany(Math.min(500, count - held.length));
      // At once: who says nothing for 10 s is cut off.
      for (const socket of opened) {
        socket.once('data', () => (answered += 1));
        socket.once('close', () => (ended += 1));
        socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
      }
      held.push(...opened);
    }
    await eventually('all are answered', () => answered === count, 60_000);
    await expectNormalService();
    // Idle ones are kept for 72 s, which a busy machine may need for all this.
    expect(ended).toBeLessThan(count / 10);
    expect(await residentMegabytes()).toBeLessThan(1_000);
    for (const socket of held) socket.destroy();
    await expectNormalService(10);
  });

  it('that break off in the middle leave nothing behind', async () => {
    for (let round = 0; round < 5; round += 1) {
      for (const socket of await openMany(400)) {
        socket.write(`POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ngrant`);
        socket.resetAndDestroy();
      }
    }
    await expectNormalService(10);
    expect(attacked.process.exitCode).toBeNull();
  });
});

it('logs no failure of its own', () => {
  const failures = attacked.lines.filter(({ level }) => typeof level === 'number' && level >= 50);
  expect(failures).toEqual([]);
});
