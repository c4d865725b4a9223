/**
 * Clients that hold a connection without sending, by sending slowly, or without reading are cut
 * off; others are answered meanwhile.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { aGroup } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useMade } from '#test/hooks.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { startApp } from '#test/query-service.ts';
import { readToEnd, startAttackedService } from './attacked-service.ts';

/** A request must arrive within 10 s; longer for a busy machine. */
const PATIENCE_MS = 60_000;

const target = useMade(startAttackedService);

/** Sends single bytes until the connection is closed. */
async function drip(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(byte);
    await sleep(400);
  }
}

const POST = `POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\n`;
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const OF_LENGTH = `${FORM}Content-Length: `;
const OF_CHUNKS = `${FORM}Transfer-Encoding: chunked\r\n\r\n`;
const AUTHORIZED = `${POST}Authorization: Basic ${btoa('full:secret')}\r\n`;
const GRANT = 'grant_type=client_credentials';
const inChunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

/** Opens as many connections from each of some addresses. */
async function fromHosts(first: number, hosts: number, each: number, bytes: string) {
  const open = (host: number) => target.openMany(each, { bytes, from: `127.0.0.${host}` });
  return (await Promise.all(times(hosts, (index) => open(first + index)))).flat();
}

it.each([
  ['bodies', `${OF_LENGTH}1000\r\n\r\n`],
  ['chunks', `${OF_CHUNKS}1\r\na\r\n`],
])('%s that do not arrive, from several addresses, take no place from others', async (_, begun) => {
  await fromHosts(2, 30, 20, POST + begun);
  // Held until those bodies are given up, it would take ten seconds.
  const { status } = await fetch(`${target.url}/api/order/list`, {
    signal: AbortSignal.timeout(5_000),
  });
  expect(status).toBe(401);
});

it('chunks that do not arrive from one address take no place from chunked requests of others', async () => {
  const held = await fromHosts(40, 1, 200, `${AUTHORIZED}${OF_CHUNKS}1\r\ng\r\n`);
  for (const socket of held) socket.resume();
  const closing = `${AUTHORIZED}Connection: close\r\n${OF_CHUNKS}${inChunks(GRANT)}`;
  const answers = await Promise.all((await fromHosts(41, 10, 10, closing)).map(readToEnd));
  for (const text of answers) expect(text).toMatch(/^HTTP\/1\.1 200 /);
  // Nor did they wait until those bodies were given up.
  expect(held.some((socket) => socket.readableEnded)).toBe(false);
});

describe('a body', () => {
  const answerTo = async (bytes: string) => {
    const [socket] = await target.openMany(1, { bytes });
    return readToEnd(socket as Socket);
  };

  it.each([
    [16_384, 200],
    [16_385, 400],
  ])('of %d bytes gets %d, declared and in chunks', async (length, status) => {
    const form = `${GRANT}&x=`.padEnd(length, 'x');
    for (const body of [`${OF_LENGTH}${length}\r\n\r\n${form}`, OF_CHUNKS + inChunks(form)])
      expect(await answerTo(`${AUTHORIZED}Connection: close\r\n${body}`)).toMatch(
        `HTTP/1.1 ${status} `,
      );
  });

  it('that grows beyond is refused at once, and its connection closed', async () => {
    expect(await answerTo(`${AUTHORIZED}${OF_CHUNKS}4001\r\n${'x'.repeat(16_385)}`)).toMatch(
      /^HTTP\/1\.1 400 [^]*connection: close[^]*the body is too large/i,
    );
  });
});

describe.concurrent('clients', { timeout: PATIENCE_MS }, () => {
  it('that send nothing are cut off in time', async ({ expect: check }) => {
    const texts = await Promise.all((await target.openMany(25)).map(readToEnd));
    for (const text of texts) check(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
  });

  it.for([
    ['send headers slowly', 'GET /api/order/list HTTP/1.1\r\nHost: x\r\n', 'X-Slow: 1\r\n'],
    ['send a body slowly', `${POST}${OF_LENGTH}1000\r\n\r\n`, GRANT],
    ['send chunks slowly, or without end', POST + OF_CHUNKS, '1\r\na\r\n'],
  ] as const)('that %s are cut off in time', async ([, bytes, slow], { expect: check }) => {
    const opened = await target.openMany(25, { bytes });
    for (const socket of opened) void drip(socket, slow.repeat(200));
    for (const text of await Promise.all(opened.map(readToEnd)))
      check(text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"invalid_request"/);
  });

  it('that do not read answers are cut off in time', async ({ expect: check }) => {
    await using impatient = await startApp(target.service.installation.config);
    // With the real timeout the test would wait half a minute.
    const { server } = impatient.app;
    check(server.timeout).toBe(10_000);
    server.timeout = 1_000;
    const asked = 300;
    const bytes = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(asked);
    const opened = await target.openMany(5, { bytes, to: impatient.url });
    const open = promisify(server.getConnections.bind(server));
    await eventually('the service has closed them', async () => (await open()) === 0);
    // Data in socket buffers still arrives.
    const texts = await Promise.all(opened.map(readToEnd));
    for (const text of texts) check(text.split('HTTP/1.1 200').length - 1).toBeLessThan(asked);
  });

  it('that are quick are answered meanwhile', async () => {
    for (let round = 0; round < 8; round += 1) {
      await target.expectNormalService(10);
      await sleep(1_000);
    }
  });
});

// Alone: how soon they are cut depends on what else the service does.
it(
  'large answers that one store reads slowly are bounded, and others are answered (rule R8.6)',
  async () => {
    const { service } = target;
    const options = times(200, (index) => ({
      id: `${index}`,
      name: 'x'.repeat(200),
      price: '1.00',
    }));
    await service.apply(times(100, (index) => aGroup(`g${index}`, { options }, 'greedy')));
    const token = await service.tokenOf({ clientId: 'greedy', storeId: 'greedy' });
    const metric = async (name: string) => {
      const metrics = await (await fetch(`${target.operations}/metrics`)).text();
      return Number(new RegExp(`^store_data_${name} (\\d+)`, 'm').exec(metrics)?.[1]);
    };
    const cut = () => metric('cut_answers_total');
    const before = await cut();
    const page = 'GET /api/option-group/list?page_size=100 HTTP/1.1\r\nHost: x\r\n';
    const slow = await target.openMany(60, {
      bytes: `${page}Authorization: Bearer ${token}\r\n\r\n`,
    });
    for (const socket of slow) socket.on('readable', () => undefined);
    const trickle = setInterval(() => {
      for (const socket of slow) socket.read(1_300);
    }, 100);
    try {
      await eventually('many are cut', async () => (await cut()) > before + 20, PATIENCE_MS);
      await target.expectNormalService(20);
      // Those that are left, and those that are begun meanwhile.
      await eventually(
        'few bytes are unread',
        async () => (await metric('unread_bytes')) <= 33_554_432,
      );
    } finally {
      clearInterval(trickle);
      for (const socket of slow) socket.destroy();
    }
  },
  2 * PATIENCE_MS,
);
