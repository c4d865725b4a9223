import { describe, expect, it } from 'vitest';
import { type Declared, declaredFor, PATHS, wordsOf } from '#test/declared-parameters.ts';
import { openApi } from '#test/documented.ts';
import { useQueryService } from '#test/hooks.ts';
import { startAppWith } from '#test/query-service.ts';

const service = useQueryService();

/** Requests like a browser; `fetch` decompresses answers. */
const get = (path: string, init: RequestInit = {}, url = service.url) =>
  fetch(`${url}${path}`, { redirect: 'manual', ...init });
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

const paths = () =>
  service.app.routes
    .filter(({ method, operation }) => method === 'GET' && operation === null)
    .map(({ path }) => path)
    .filter((path) => !path.endsWith('/'));

describe('the pages', () => {
  it('are public, and load nothing from other hosts and no inline script', async () => {
    for (const path of paths()) {
      const answer = await get(path, BROWSER);
      expect(answer.status, path).toBe(200);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'self';/),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-request-id': expect.stringMatching(/./),
        'cache-control': 'no-cache',
      });
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
      for (const [init, status] of [
        [{ headers: { 'if-none-match': `"x", ${head.headers.get('etag')}` } }, 304],
        [{ headers: { 'if-none-match': '"x"' } }, 200],
        [{ method: 'POST' }, 405],
      ] as const)
        expect([path, init, (await get(path, init)).status]).toEqual([path, init, status]);
    }
  });

  it('have no broken links, nor has the search, which finds errors by their codes', async () => {
    const sections = (await (await get('/docs/search.json')).json()) as Record<string, string>[];
    const address = '/docs/guides/errors#invalid_parameters';
    expect(sections).toContainEqual(
      expect.objectContaining({ title: 'Errors: invalid_parameters', address }),
    );
    const links = sections.map((section) => [section['address'] ?? '', '/docs']);
    const texts = new Map<string, string>();
    for (const path of paths()) {
      const text = await (await get(path, BROWSER)).text();
      texts.set(path, text);
      if (!path.startsWith('/docs/guides')) continue;
      for (const [, to = ''] of text.matchAll(/(?:src|href)="([^"]*)"/g)) links.push([to, path]);
    }
    for (const [to = '', path = ''] of links) {
      const { host, pathname, hash } = new URL(to, `http://x${path}`);
      if (host !== 'x' || pathname === '/openapi.json') continue;
      const anchor = hash === '' ? '' : ` id="${hash.slice(1)}"`;
      expect(texts.get(pathname), `${path}: ${to}`).toContain(anchor);
    }
  });
});

it.each([
  ['/', '/docs'],
  ['/docs/', '/docs'],
  ['/docs/guides/', '/docs/guides'],
])('%s redirects browsers to %s', async (path, target) => {
  const { status, headers } = await get(path, BROWSER);
  expect([status, headers.get('location')]).toEqual([302, target]);
});

it('all pages are 404 if they are switched off', async () => {
  await using off = await startAppWith(service.installation, { QUERY_DOCS: 'false' });
  const root = await get('/', BROWSER, off.url);
  expect([root.status, root.headers.get('link')]).toEqual([404, null]);
  for (const path of paths()) expect((await off.api.call(path)).status, path).toBe(404);
  expect((await off.api.call('/openapi.json')).status).toBe(200);
});

/** A cursor is valid only for its own feed, store and environment. */
const VALUES: Record<string, string[]> = {
  after: ['now'],
  rating: ['5'],
  active: ['true', 'false'],
};

/** Values that the document allows, at least one. */
const valuesOf = ({ name, schema, examples, example = examples?.example.value }: Declared) =>
  VALUES[name] ?? wordsOf(schema) ?? [String(example ?? schema.minimum)];

it('GET /openapi.json is public, and compressed well', async () => {
  const headers = { 'accept-encoding': 'br' };
  const answer = await service.api.call('/openapi.json', { headers });
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'br']);
  expect(Number(answer.headers.get('content-length'))).toBeLessThan(50_000);
  expect(answer.json).toEqual(openApi);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
});

it('the document has the parameters of endpoints with values that they accept', async () => {
  for (const path of PATHS) {
    const parameters = declaredFor(path);
    const { text } = await service.get(`${path}?unheard=of`);
    const taken = /allowed: (.+)"/.exec(text)?.[1]?.split(', ') ?? [];
    expect([path, ...parameters.map(({ name }) => name)]).toEqual([path, ...taken]);
    const needed = parameters.filter(({ required }) => required);
    for (const parameter of parameters) {
      for (const value of valuesOf(parameter)) {
        const pairs = new Map(needed.map((other) => [other.name, valuesOf(other)[0] ?? '']));
        pairs.set(parameter.name, value);
        const target = `${path}?${new URLSearchParams([...pairs]).toString()}`;
        const { status } = await service.get(target);
        expect([200, 404].includes(status), target).toBe(true);
      }
    }
  }
});
