/** Clients that hold a connection by being silent, slow or deaf. They are cut off, and others are answered meanwhile. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { TOKEN_PATH } from '#test/api-client.ts';
import { startApp } from '#test/query-service.ts';
import { type AttackedService, readToEnd, startAttackedService } from './attacked-service.ts';

/** A request must have arrived after 10 s; and machines are busy. */
const PATIENCE_MS = 60_000;

let target: AttackedService;
beforeAll(async () => {
  target = await startAttackedService();
});
afterAll(() => target?.close());

/** Sends bytes one at a time until the connection is gone. */
async function drip(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(byte);
    await sleep(400);
  }
}

describe.concurrent('a connection is ended in time', { timeout: PATIENCE_MS }, () => {
  it('that says nothing', async ({ expect: check }) => {
    const texts = await Promise.all((await target.openMany(100)).map(readToEnd));
    for (const text of texts) check(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
  });

  const POST = `POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\n`;
  const FORM = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n';
  it.for([
    ['headers come slowly', 100, 'GET /api/order/list HTTP/1.1\r\nHost: x\r\n', 'X-Slow: 1\r\n'],
    ['body comes slowly', 100, POST + FORM, 'grant_type=client_credentials'],
    ['chunks come slowly, or never end', 50, `${POST}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n'],
  ] as const)('whose %s', async ([, count, head, slow], { expect: check }) => {
    const opened = await target.openMany(count);
    const ends = opened.map(readToEnd);
    for (const socket of opened) {
      socket.write(head);
      void drip(socket, slow.repeat(200));
    }
    for (const text of await Promise.all(ends)) {
      check(text).toMatch(/^HTTP\/1\.1 408 /);
      check(text).toContain('"code":"invalid_request"');
    }
  });

  it('whose client takes none of its answers', async ({ expect: check }) => {
    await using impatient = await startApp(target.service.installation.config);
    // What it is otherwise would be half a minute to wait.
    check(impatient.app.server.timeout).toBe(10_000);
    impatient.app.server.timeout = 1_000;
    const asked = 300;
    const opened = await target.openMany(5, impatient.url);
    for (const socket of opened) {
      socket.pause();
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(asked));
    }
    await sleep(8_000);
    // What the machine itself holds for them comes still.
    const texts = await Promise.all(opened.map((socket) => readToEnd(socket.resume())));
    for (const text of texts) check(text.split('HTTP/1.1 200').length - 1).toBeLessThan(asked);
  });

  it('while others are answered', async () => {
    for (let round = 0; round < 8; round += 1) {
      await target.expectNormalService(10);
      await sleep(1_000);
    }
  });
});
