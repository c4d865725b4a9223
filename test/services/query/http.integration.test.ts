import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { createLogger } from '#shared/logging.ts';
import { sendRaw, TOKEN_PATH } from '#test/api-client.ts';
import { startApp } from '#test/query-service.ts';

let log = '';
const service = useQueryService({
  logger: createLogger('query', 'trace', { write: (line) => (log += line) }),
});
let token: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full', secrets: ['verysecretsecret'] });
});

const raw = (text: string) => sendRaw(service.url, text);

describe('malformed HTTP', () => {
  it.each([
    ['an unknown method', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['an address that is too long', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    [
      'more than 200 header fields, a body that never comes, and an expectation',
      `POST /nope HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 9\r\n${'A: b\r\n'.repeat(198)}\r\n`,
      431,
    ],
    ['a missing Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    [
      'a path that cannot be decoded',
      'GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      400,
    ],
    [
      'a path that is not UTF-8',
      'GET /api/%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      400,
    ],
  ])('%s', async (_what, text, status) => {
    const answer = await raw(text);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ code: 'invalid_request' });
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)));
  });
});

describe('an unusual request', () => {
  it.each([
    ['TRACE', 'TRACE /api/order/list HTTP/1.1', 405],
    ['PROPFIND', 'PROPFIND /api/order/list HTTP/1.1', 405],
    ['an unknown expectation', 'GET /health HTTP/1.1\r\nExpect: miracles', 200],
    ['an upgrade', 'GET /health HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket', 200],
    [
      'a GET with a body',
      'GET /health HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: application/json',
      200,
    ],
    [
      'a POST of broken JSON',
      'POST /nope HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: application/json',
      404,
    ],
    ['HTTP/1.0', 'GET /health HTTP/1.0', 200],
    ['a star', 'OPTIONS * HTTP/1.1', 404],
  ])('%s', async (_what, head, status) => {
    const body = head.includes('Content-Length') ? '{x' : '';
    expect((await raw(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n${body}`)).status).toBe(
      status,
    );
  });
});

describe('an unknown path', () => {
  it.each([
    ['/api/menu', '/api/menu/'],
    ['/api/auth/token', '/api/auth/token/'],
    ['/HEALTH', '/health'],
    [`/${'x'.repeat(5_000)}`, '/'],
  ])('is answered with the nearest known path, and not repeated (%#)', async (path, nearest) => {
    const answer = await service.api.call(path);
    expect(answer.status).toBe(404);
    const { detail } = answer.json as { detail: string };
    expect(detail).toMatch(/^there is nothing at this path; the nearest is \/[a-z/-]+$/);
    expect(detail).toContain(` ${nearest}`);
    expect(detail).not.toContain('xxx');
  });
});

describe('the link of an error', () => {
  const linkOf = async (path: string, headers: Record<string, string>, api = service.api) =>
    (await api.call(path, { headers })).headers.get('link');
  const errors = () =>
    [
      ['/nope', {}, 'not_found'],
      ['/api/order/list', {}, 'invalid_token'],
      ['/api/order/list?status=x', { authorization: `Bearer ${token}` }, 'invalid_parameters'],
      [TOKEN_PATH, {}, 'token-endpoint'],
    ] as const;

  it('leads to its section in the guide', async () => {
    const guide = await (await fetch(`${service.url}/docs/guides/errors`)).text();
    for (const [path, headers, anchor] of errors()) {
      expect(await linkOf(path, headers)).toBe(`</docs/guides/errors#${anchor}>; rel="help"`);
      expect(guide).toContain(` id="${anchor}"`);
    }
    expect(await linkOf('/health', {})).toBeNull();
  });

  it('is absent if the pages are switched off', async () => {
    const { config } = service.installation;
    await using off = await startApp({ ...config, query: { ...config.query, docs: false } });
    for (const [path, headers] of errors()) expect(await linkOf(path, headers, off.api)).toBeNull();
  });
});

describe('X-Request-Id', () => {
  const idFor = async (headers: Record<string, string>, path = '/health') =>
    (await service.api.call(path, { headers })).headers.get('x-request-id');

  it('keeps a harmless id of the caller', async () => {
    for (const own of ['a', 'A-Z_0.9', 'x'.repeat(128)]) {
      for (const path of ['/health', '/nope', '/api/order/list', '/api/%zz']) {
        expect(await idFor({ 'x-request-id': own }, path)).toBe(own);
      }
    }
  });

  it('is a new id otherwise', async () => {
    const made = await Promise.all(
      [
        {},
        { 'x-request-id': 'x'.repeat(129) },
        { 'x-request-id': 'a b' },
        { 'x-request-id': 'a"b' },
        { 'x-request-id': '' },
      ].map((headers) => idFor(headers as Record<string, string>)),
    );
    expect(new Set(made).size).toBe(made.length);
  });
});

describe('an unexpected exception', () => {
  it('is a 500 without details, and a log line with all details', async () => {
    const { app } = service;
    const { of } = app.services.generations;
    app.services.generations.of = () => {
      throw new TypeError('internal words');
    };
    try {
      const answer = await service.api.get('/api/order/list', token);
      expect(answer.status).toBe(500);
      expect(answer.text).not.toContain('internal words');
      expect(log).toContain('internal words');
      expect(log).toContain(answer.headers.get('x-request-id') ?? 'nothing');
    } finally {
      app.services.generations.of = of;
    }
  });
});
