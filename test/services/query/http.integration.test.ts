import { expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { createLogger } from '#shared/logging.ts';
import { type ErrorAnswer, sendRaw, TOKEN_PATH } from '#test/api-client.ts';

let log = '';
const service = useQueryService({
  logger: createLogger('query', 'trace', { write: (line) => (log += line) }),
});

const HOST = 'Host: x\r\n';
const CLOSE = 'Connection: close\r\n';

it.each([
  ['an unknown method', `FOO / HTTP/1.1\r\n${HOST}`, 400],
  ['headers that are too large', `GET / HTTP/1.1\r\n${HOST}A: ${'a'.repeat(20_000)}\r\n`, 431],
  ['an address that is too long', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${HOST}`, 431],
  [
    'more than 200 header fields, a body that never comes, and an expectation',
    `POST /nope HTTP/1.1\r\n${HOST}Expect: x\r\nContent-Length: 9\r\n${'A: b\r\n'.repeat(198)}`,
    431,
  ],
  ['a missing Host', `GET /health HTTP/1.1\r\n${CLOSE}`, 400],
  ['CONNECT', `CONNECT example.org:443 HTTP/1.1\r\n${HOST}`, 400],
  ['a path that cannot be decoded', `GET /api/%zz HTTP/1.1\r\n${HOST}${CLOSE}`, 400],
  ['a path that is not UTF-8', `GET /api/%ff HTTP/1.1\r\n${HOST}${CLOSE}`, 400],
])('malformed HTTP is refused: %s', async (_what, head, expected) => {
  const { status, headers, text } = await sendRaw(service.url, `${head}\r\n`);
  expect(status).toBe(expected);
  expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
});

it.each([
  ['PROPFIND', 'PROPFIND /api/order/list HTTP/1.1\r\n', 405],
  ['an unknown expectation', 'GET /health HTTP/1.1\r\nExpect: miracles\r\n', 200],
  ['an upgrade', 'GET /health HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n', 200],
  ['a GET with a body', 'GET /health HTTP/1.1\r\nContent-Length: 2\r\n', 200],
  [
    'a POST of broken JSON',
    'POST /nope HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: application/json\r\n',
    404,
  ],
  ['HTTP/1.0', 'GET /health HTTP/1.0\r\n', 200],
  ['a star', 'OPTIONS * HTTP/1.1\r\n', 404],
])('an unusual request is answered: %s', async (_what, head, status) => {
  const body = head.includes('Content-Length') ? '{x' : '';
  const answer = await sendRaw(service.url, `${head}${HOST}${CLOSE}\r\n${body}`);
  expect(answer.status).toBe(status);
});

it.each([
  ['/api/menu', '/api/menu/'],
  ['/api/auth/token', '/api/auth/token/'],
  ['/HEALTH', '/health'],
  [`/${'x'.repeat(5_000)}`, '/[a-z/-]+'],
])(
  'an unknown path is answered with the nearest known one, and not repeated (%#)',
  async (path, nearest) => {
    const { status, json } = await service.api.call(path);
    expect(status).toBe(404);
    expect((json as ErrorAnswer).detail).toMatch(
      new RegExp(`^there is nothing at this path; the nearest is ${nearest}$`),
    );
  },
);

it('the link of an error leads to its section in the guide', async () => {
  const guide = await (await fetch(`${service.url}/docs/guides/errors`)).text();
  for (const [path, anchor] of [
    ['/nope', 'not_found'],
    ['/api/order/list', 'invalid_token'],
    [TOKEN_PATH, 'token-endpoint'],
  ] as const) {
    const { headers } = await service.api.call(path);
    expect(headers.get('link')).toBe(`</docs/guides/errors#${anchor}>; rel="help"`);
    expect(guide).toContain(` id="${anchor}"`);
  }
  expect((await service.api.call('/health')).headers.get('link')).toBeNull();
});

it('X-Request-Id is the caller’s, if it is harmless, otherwise a new one', async () => {
  const idFor = async (own: string, path = '/health') =>
    (await service.api.call(path, { headers: { 'x-request-id': own } })).headers.get(
      'x-request-id',
    );
  for (const path of ['/health', '/nope', '/api/order/list', '/api/%zz']) {
    for (const own of ['A-Z_0.9', 'x'.repeat(128)]) expect(await idFor(own, path)).toBe(own);
  }
  const made = await Promise.all(['x'.repeat(129), 'a b', 'a"b', ''].map((own) => idFor(own)));
  expect(new Set(made).size).toBe(made.length);
});

it('an unexpected exception is a 500 without details, and a log line with all details', async () => {
  const { app } = service;
  const { of } = app.services.generations;
  app.services.generations.of = () => {
    throw new TypeError('internal words');
  };
  try {
    const answer = await service.get('/api/order/list');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('internal words');
    expect(log).toContain('internal words');
    expect(log).toContain(answer.headers.get('x-request-id') ?? 'nothing');
  } finally {
    app.services.generations.of = of;
  }
});
