import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { useMade } from '#test/hooks.ts';
import { startOperations } from '#shared/operations.ts';

const registry = new Registry();
new Counter({ name: 'things_total', help: 'Things', registers: [registry] }).inc(3);
const operations = useMade(() =>
  startOperations({
    host: '127.0.0.1',
    port: 0,
    live: () => true,
    unreadyReason: () => Promise.reject(new Error('internal words')),
    registry,
    logger: createLogger('test', 'silent'),
  }),
);
const ask = (path: string, init?: RequestInit) => fetch(`${operations.url}${path}`, init);

describe('the operations server', () => {
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
    const failed = await ask('/ready', { headers: { 'x-request-id': 'r1' } });
    expect([failed.status, await failed.json()]).toEqual([
      500,
      { code: 'internal_error', detail: 'the request failed' },
    ]);
    expect(failed.headers.get('x-request-id')).toBe('r1');
  });
});
