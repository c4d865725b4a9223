/** Many simultaneous connections do not affect other clients. */
import { execFileSync } from 'node:child_process';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { startAttackedService } from './attacked-service.ts';

const CONNECTIONS = 10_000;
/** Additional open files of this process and the service. */
const OTHER_FILES = 500;

const target = useMade(startAttackedService);

/** The maximum number of open files on this machine, which may be `unlimited`. */
const openFilesLimit = () =>
  Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })) || Number.POSITIVE_INFINITY;

describe('very many connections', () => {
  it('that stay open after an answer do not affect other clients', async () => {
    const files = openFilesLimit();
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
      const bytes = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
      // In parallel, since a silent connection is closed after 10 s.
      const opened = await target.openMany(Math.min(500, count - held.length), { bytes });
      for (const socket of opened) {
        socket.once('data', () => (answered += 1));
        socket.once('close', () => (ended += 1));
      }
      held.push(...opened);
    }
    await eventually('all are answered', () => answered === count);
    await target.expectNormalService(50);
    // Idle connections stay open for 72 s, which a busy machine may need for this test.
    expect(ended).toBeLessThan(count / 10);
    for (const socket of held) socket.destroy();
    await target.expectNormalService(10);
  });

  it('that break off in a request leave nothing behind', async () => {
    const bytes = `POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ngrant`;
    for (let round = 0; round < 5; round += 1) {
      for (const socket of await target.openMany(400, { bytes })) socket.resetAndDestroy();
    }
    await target.expectNormalService(10);
    expect(target.attacked.process.exitCode).toBeNull();
  });
});
