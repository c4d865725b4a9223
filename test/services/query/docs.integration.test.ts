import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { useInstallation, useMade } from '#test/hooks.ts';
import { startApp } from '#test/query-service.ts';

const installation = useInstallation();
const running = useMade(() => startApp(installation.config));

/** Requests like a browser; `fetch` decompresses answers. */
const get = (path: string, init: RequestInit = {}, { url } = running) =>
  fetch(`${url}${path}`, { redirect: 'manual', ...init });
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

const paths = () =>
  running.app.routes
    .filter(({ method, operation }) => method === 'GET' && operation === null)
    .map(({ path }) => path)
    .filter((path) => !path.endsWith('/'));

describe('the pages', () => {
  it('are public, and load nothing from other hosts and no inline script', async () => {
    expect(paths()).toContain('/docs');
    for (const path of paths()) {
      const answer = await get(path, BROWSER);
      const { headers, status } = answer;
      expect(status, path).toBe(200);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self';/,
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-request-id')).toMatch(/./);
      expect(headers.get('cache-control')).toBe('no-cache');
      const text = await answer.text();
      expect(text.length).toBeGreaterThan(200);
      if (/\.\w+$/.test(path)) continue;
      expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\/|<script(?![^>]* src=)/);
    }
  });

  it('and the OpenAPI document answer HEAD, 304 for a known ETag, and 405 for other methods', async () => {
    for (const path of ['/docs', '/docs/guides/errors', '/docs/scalar.js', '/openapi.json']) {
      const head = await get(path, { method: 'HEAD' });
      expect([path, head.status, await head.text()]).toEqual([path, 200, '']);
      for (const [tag, expected] of [
        [`"x", ${head.headers.get('etag')}`, 304],
        ['"x"', 200],
      ] as const) {
        const { status } = await get(path, { headers: { 'if-none-match': tag } });
        expect([path, tag, status]).toEqual([path, tag, expected]);
      }
      const { status, headers } = await running.api.call(path, { method: 'POST' });
      expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
    }
  });

  it('have no broken links', async () => {
    const there = new Set(['/openapi.json', ...paths()]);
    for (const path of paths().filter((name) => name.startsWith('/docs/guides'))) {
      const html = await (await get(path, BROWSER)).text();
      const links = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(
        ([, to = '']) => new URL(to, `http://x${path}`),
      );
      for (const { host, pathname, hash } of links) {
        if (host !== 'x') continue;
        expect([path, pathname, there.has(pathname)]).toEqual([path, pathname, true]);
        if (hash === '') continue;
        expect(await (await get(pathname, BROWSER)).text()).toContain(` id="${hash.slice(1)}"`);
      }
    }
  });

  it('describe the events by the generated document', async () => {
    const served: unknown = await (await get('/docs/asyncapi.json')).json();
    expect(served).toEqual(JSON.parse(await readFile('docs/asyncapi.json', 'utf8')));
  });
});

describe('the script of the reference', () => {
  it('is cached forever by its version, and revalidated without a version or with another', async () => {
    const html = await (await get('/docs', BROWSER)).text();
    const [, address = ''] = /href="(\/docs\/scalar\.js\?v=[\w-]+)"/.exec(html) ?? [];
    const cachingOf = async (path: string) =>
      (await get(path, { method: 'HEAD' })).headers.get('cache-control');
    expect(await cachingOf(address)).toBe('public, max-age=31536000, immutable');
    expect(await cachingOf('/docs/scalar.js')).toBe('no-cache');
    expect(await cachingOf('/docs/scalar.js?v=other')).toBe('no-cache');
  });

  it('is always sent compressed', async () => {
    const ask = (headers: Record<string, string>) =>
      running.app.inject({ url: '/docs/scalar.js', headers });
    const packed = await ask({ 'accept-encoding': 'gzip, br' });
    expect(gunzipSync(packed.rawPayload).length).toBeGreaterThan(3_000_000);
    for (const headers of [
      {},
      { 'accept-encoding': 'identity' },
      { 'accept-encoding': 'br;q=1, gzip;q=0' },
    ]) {
      const answer = await ask(headers);
      expect([answer.statusCode, answer.headers['content-encoding']]).toEqual([200, 'gzip']);
      expect(answer.rawPayload.length).toBeLessThan(1_500_000);
      expect(answer.rawPayload.equals(packed.rawPayload)).toBe(true);
    }
  });
});

it('pages with a trailing slash redirect to those without', async () => {
  for (const path of ['/docs', '/docs/guides']) {
    const { status, headers } = await get(`${path}/`, BROWSER);
    expect([status, headers.get('location')]).toEqual([302, path]);
  }
});

it('the search finds every section of the guides, and errors by their codes', async () => {
  const sections = (await (await get('/docs/search.json')).json()) as {
    title: string;
    address: string;
  }[];
  expect(sections).toContainEqual(
    expect.objectContaining({
      title: 'Errors: invalid_parameters',
      address: '/docs/guides/errors#invalid_parameters',
    }),
  );
  for (const { address } of sections) {
    const [path = '', anchor] = address.split('#');
    expect(await (await get(path, BROWSER)).text(), address).toContain(` id="${anchor}"`);
  }
});

describe('the root', () => {
  it('redirects browsers to the reference, and is 404 for programs', async () => {
    const led = await get('/', BROWSER);
    expect([led.status, led.headers.get('location')]).toEqual([302, '/docs']);
    expect((await running.api.call('/')).status).toBe(404);
  });
});

it('and all pages are 404 if they are switched off', async () => {
  await using off = await startApp({
    ...installation.config,
    query: { ...installation.config.query, docs: false },
  });
  expect((await get('/', BROWSER, off)).status).toBe(404);
  for (const path of paths()) expect((await off.api.call(path)).status, path).toBe(404);
  expect((await off.api.call('/openapi.json')).status).toBe(200);
});
