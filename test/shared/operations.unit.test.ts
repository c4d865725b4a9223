import { Counter, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { useMade } from '#test/hooks.ts';
import { startOperations } from '#shared/operations.ts';

let live = true;
let unreadyReason: string | null = null;
afterEach(() => {
  live = true;
  unreadyReason = null;
});

const registry = new Registry();
new Counter({ name: 'things_total', help: 'Things', registers: [registry] }).inc(3);
const operations = useMade(() =>
  startOperations({
    host: '127.0.0.1',
    port: 0,
    live: () => live,
    unreadyReason: async () => {
      if (!live) throw new Error('internal words');
      return unreadyReason;
    },
    registry,
    logger: createLogger('test', 'silent'),
  }),
);
const ask = (path: string, init?: RequestInit) => fetch(`${operations.url}${path}`, init);

describe('the operations server', () => {
  it('answers liveness and readiness separately, with the reason if it is not ready', async () => {
    expect((await ask('/live')).status).toBe(200);
    expect(await (await ask('/ready')).json()).toEqual({ status: 'ok' });
    unreadyReason = 'it stops';
    const answer = await ask('/ready?x=1');
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { status: 'unavailable', reason: 'it stops' },
    ]);
    expect((await ask('/live')).status).toBe(200);
  });

  it('answers the release', async () => {
    expect(await (await ask('/version')).json()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      projection_version: PROJECTION_VERSION,
    });
  });

  it('answers metrics', async () => {
    const answer = await ask('/metrics');
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await answer.text()).toContain('things_total 3');
  });

  it('refuses other paths and methods, and hides internal errors', async () => {
    for (const path of ['/', '/constructor']) expect((await ask(path)).status).toBe(404);
    const post = await ask('/live', { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(await (await ask('/live', { method: 'HEAD' })).text()).toBe('');
    live = false;
    const failed = await ask('/ready', { headers: { 'x-request-id': 'r1' } });
    expect([failed.status, await failed.json()]).toEqual([
      500,
      { code: 'internal_error', detail: 'the request failed' },
    ]);
    expect(failed.headers.get('x-request-id')).toBe('r1');
  });
});
