/**
 * Ambiguous requests (request smuggling) get one refusal, and the bytes after them are not read.
 */
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { processorMs } from '#test/patience.ts';
import { dataRoutes, targetOf } from './data-routes.ts';
import { expectHarmless } from './harmless.ts';

const HOST = 'Host: x\r\n';
const CLOSE = 'Connection: close\r\n';
const LIST = 'GET /api/order/list HTTP/1.1\r\n';
const POST = `POST ${TOKEN_PATH} HTTP/1.1\r\n${HOST}`;
/** The smuggled request. Its answer would be the only 404 here. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const service = useQueryService();
let token: string;
let authorization: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  authorization = `Authorization: Bearer ${token}\r\n`;
});

/**
 * Sends bytes (one per character).
 * @returns the statuses of all answers until the server closes the connection.
 */
async function statusesOf(bytes: string): Promise<number[]> {
  const { hostname, port } = new URL(service.url);
  const text = await new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = connect({ host: hostname, port: Number(port) }, () =>
      socket.write(bytes, 'latin1'),
    );
    socket.setTimeout(60_000, () =>
      socket.destroy(new Error(`the connection stays open after: ${received}`)),
    );
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
  expect(text).not.toContain(token);
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

describe('the body of a request', () => {
  const head = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
  const LAST = 'GET /api/order/list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

  it.each([
    ['without a length', ''],
    ['of no bytes', 'Content-Length: 0\r\n'],
    ['of no chunks', 'Transfer-Encoding: chunked\r\n'],
  ])('%s is refused, also if there are many', async (_, length) => {
    const body = length.startsWith('T') ? '0\r\n\r\n' : '';
    const asked = head('/api/auth/token/', FORM + length) + body;
    const answered = await Promise.all(
      Array.from({ length: 40 }, async () => statusesOf(asked + LAST)),
    );
    expect(answered).toEqual(answered.map(() => [400, 401]));
  });

  it('of 300 KiB, where none is read, leaves its connection to the next request', async () => {
    const length = 300 * 1_024;
    const asked =
      head('/api/order/list', `${FORM}Content-Length: ${length}\r\n`) + 'x'.repeat(length);
    expect(await statusesOf(asked + LAST)).toEqual([405, 401]);
  });
});

describe('the framing of a request', () => {
  it.each([
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['chunks that are not last', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['a blank before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', 'Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n'],
    ['chunks ended by LF', 'Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n'],
    ['a negative length', 'Content-Length: -5\r\n\r\nabcde'],
    ['a length beyond any number', 'Content-Length: 99999999999999999999\r\n\r\nabcde'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde'],
    ['the same length twice', 'Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde'],
    ['a header ended by LF', 'X: a\nContent-Length: 5\r\n\r\nabcde'],
    ['a NUL in a value', 'X: a\0b\r\n\r\n'],
  ])('is refused with %s', async (_what, rest) => {
    expect(await statusesOf(`${POST}${rest}${SMUGGLED}`)).toEqual([400]);
  });

  it.each([
    ['a blank before the first header', `${LIST} ${HOST}`],
    ['lines ended by LF', `${LIST}${HOST}`.replaceAll('\r\n', '\n')],
    ['another version', `GET /health HTTP/1.2\r\n${HOST}`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n'],
    ['a blank in the path', `GET /he alth HTTP/1.1\r\n${HOST}`],
  ])('is refused with %s', async (_what, head) => {
    expect(await statusesOf(`${head}\r\n${SMUGGLED}`)).toEqual([400]);
  });

  it('is refused with chunks in HTTP/1.0', async () => {
    const head = `POST ${TOKEN_PATH} HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    expect(await statusesOf(`${head}${SMUGGLED}`)).toEqual([400]);
  });

  it('separates bodies from the following requests', async () => {
    const ok = `GET /health HTTP/1.1\r\n${HOST}`;
    const length = `Content-Length: ${SMUGGLED.length}\r\n\r\n`;
    expect(await statusesOf(`${ok}${length}${SMUGGLED}${ok}${CLOSE}\r\n`)).toEqual([200, 200]);
    const chunk = `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${chunk}`;
    expect(await statusesOf(`${ok}${chunked}${ok}${CLOSE}\r\n`)).toEqual([200, 200]);
    expect(await statusesOf(`${`${ok}\r\n`.repeat(20)}${ok}${CLOSE}\r\n`)).toHaveLength(21);
  });
});

describe('a header that must come once', () => {
  it.each([
    ['a good and a bad Authorization', () => `${HOST}${authorization}Authorization: Bearer x\r\n`],
    ['a bad and a good Authorization', () => `${HOST}Authorization: Bearer x\r\n${authorization}`],
    ['the same Authorization twice', () => `${HOST}${authorization}${authorization}`],
    [
      'a Basic and a Bearer',
      () => `${HOST}Authorization: Basic ZnVsbDpzZWNyZXQ=\r\n${authorization}`,
    ],
    ['two Host', () => `${HOST}Host: y\r\n${authorization}`],
  ])('is refused: %s', async (_what, headers) => {
    expect(await statusesOf(`${LIST}${headers()}${CLOSE}\r\n`)).toEqual([400]);
    // Also at the token endpoint, with valid credentials.
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 29\r\n';
    const basic = 'Authorization: Basic ZnVsbDpzZWNyZXQ=\r\n';
    const request = `${headers().replaceAll(authorization, basic)}${form}${CLOSE}\r\ngrant_type=client_credentials`;
    expect(await statusesOf(`POST ${TOKEN_PATH} HTTP/1.1\r\n${request}`)).toEqual([400]);
  });

  it('is refused: two Content-Type', async () => {
    const types = ['application/x-www-form-urlencoded', 'text/plain'].map(
      (type) => `Content-Type: ${type}\r\n`,
    );
    for (const pair of [types, types.toReversed()]) {
      const rest = `Authorization: Basic ZnVsbDpzZWNyZXQ=\r\nContent-Length: 29\r\n${CLOSE}`;
      expect(
        await statusesOf(`${POST}${pair.join('')}${rest}\r\ngrant_type=client_credentials`),
      ).toEqual([400]);
    }
  });

  it('is found among as many others as a request may have, and refused with them beyond', async () => {
    // With Host, Connection and two Authorization these are 200 fields.
    const many = 'a:\r\n'.repeat(196);
    const bad = 'Authorization: Bearer x\r\n';
    expect(await statusesOf(`${LIST}${HOST}${CLOSE}${authorization}${many}${bad}\r\n`)).toEqual([
      400,
    ]);
    expect(await statusesOf(`${LIST}${HOST}${CLOSE}${many}${authorization}\r\n`)).toEqual([200]);
    for (const others of [2, 3_300]) {
      const beyond = many + 'a:\r\n'.repeat(others);
      expect(await statusesOf(`${LIST}${HOST}${CLOSE}${beyond}${authorization}${bad}\r\n`)).toEqual(
        [431],
      );
    }
  });
});

describe('Authorization', () => {
  it.each([
    ['a folded value', () => `Authorization: Bearer\r\n ${token}\r\n`, 400],
    ['a NUL at its end', () => `Authorization: Bearer ${token}\0\r\n`, 400],
    ['a blank before the colon', () => `Authorization : Bearer ${token}\r\n`, 400],
    ['a tab between scheme and token', () => `Authorization: Bearer\t${token}\r\n`, 401],
    ['a name with an underscore', () => `HTTP_Authorization: Bearer ${token}\r\n`, 401],
    [
      'blanks and tabs around it, which HTTP allows',
      () => `Authorization:\t Bearer ${token} \t\r\n`,
      200,
    ],
    [
      'a scheme in another case, which HTTP allows',
      () => `authorization: bEARER ${token}\r\n`,
      200,
    ],
    [
      'itself named hop-by-hop',
      () => `Connection: close, Authorization\r\nAuthorization: Bearer ${token}\r\n`,
      200,
    ],
  ])('with %s', async (_what, header, status) => {
    expect(await statusesOf(`${LIST}${HOST}${CLOSE}${header()}\r\n`)).toEqual([status]);
  });

  it('is ignored in a trailer', async () => {
    const chunked = `Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\n${authorization}\r\n`;
    expect(await statusesOf(`${LIST}${HOST}${CLOSE}${chunked}`)).toEqual([401]);
  });
});

describe('the host and the target', () => {
  it.each(['a b', 'a/b', 'user@x', 'x, y', 'x:port', '\xff'])(
    'the host %j is refused',
    async (host) => {
      expect(await statusesOf(`${LIST}Host: ${host}\r\n${CLOSE}${authorization}\r\n`)).toEqual([
        400,
      ]);
    },
  );

  it.each(['x:8080', '[::1]:80', 'a_b-c.example.', ''])('the host %j is accepted', async (host) => {
    expect(await statusesOf(`${LIST}Host: ${host}\r\n${CLOSE}${authorization}\r\n`)).toEqual([200]);
  });

  it.each([
    ['http://evil.example/api/order/list', 200],
    ['http://user:password@evil.example/api/order/list', 200],
    ['http://evil.example:99999/api/order/list', 400],
    ['//evil.example/api/order/list', 404],
    ['/api/order/list#fragment', 400],
    ['/api/order/list?search=%23', 422],
    ['/nowhere#fragment', 404],
    ['/api/order/list;x=1', 404],
    ['/api/order/list%2f', 404],
    ['/api/order/list/..', 404],
    ['/api/order/%2e%2e/order/list', 404],
    ['\\api\\order\\list', 400],
    ['/API/ORDER/LIST', 404],
    ['/%61pi/order/list', 200],
  ])('the target %s leads only to its own resource, and needs a token', async (target, status) => {
    const request = (headers: string) => `GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}${headers}\r\n`;
    expect(await statusesOf(request(authorization))).toEqual([status]);
    expect(await statusesOf(request(''))).toEqual([[200, 422].includes(status) ? 401 : status]);
  });
});

describe('headers of proxies and frameworks, or that would choose a store', () => {
  const HEADERS = {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'for=127.0.0.1;host=evil.example;proto=https',
    'x-original-url': '/health',
    'x-rewrite-url': '/health',
    'x-store-id': 's2',
    'x-environment': 'sandbox',
    'x-tenant': 's2',
    'x-http-method-override': 'DELETE',
    'accept-version': '2',
    'accept-language': '../../etc/passwd',
    range: 'bytes=0-0',
    origin: 'https://evil.example',
    cookie: 'a=b',
  };

  it('neither grant access nor change an answer', async () => {
    for (const route of dataRoutes(service.app)) {
      const target = targetOf(route, 'x');
      expect((await service.api.call(target, { headers: HEADERS })).status).toBe(401);
      const plain = await service.api.get(target, token);
      const answer = await service.api.get(target, token, HEADERS);
      expect([target, answer.status, answer.text]).toEqual([target, plain.status, plain.text]);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
      expectHarmless(answer, target, ['evil.example', 'passwd', '/admin']);
    }
  });

  it.each(['x-http-method-override', 'x-method-override'])('%s has no effect', async (name) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const headers = { authorization: `Bearer ${token}`, [name]: 'GET', ...form };
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const body = method === 'POST' ? { body: '_method=GET' } : {};
      const answer = await service.api.call('/api/order/list?_method=GET', {
        method,
        headers,
        ...body,
      });
      expect(answer.status, method).toBe(405);
    }
  });
});

describe('headers designed to be slow to parse', () => {
  it.each([
    ['authorization', `Bearer ${'a'.repeat(7_000)}${'='.repeat(7_000)}!`],
    ['authorization', `Bearer${' '.repeat(14_000)}`],
    ['if-none-match', '"'.repeat(14_001)],
    ['if-none-match', `${' '.repeat(7_000)}*${' '.repeat(7_000)}x`],
    ['accept-encoding', 'gzip;q=0.0000000001,'.repeat(700)],
    ['accept', '*/*;q=0.1,'.repeat(1_400)],
    ['content-type', `a/${'b;'.repeat(7_000)}`],
    ['x-request-id', 'a'.repeat(14_000)],
    ['x-forwarded-for', '1.1.1.1,'.repeat(1_700)],
    ['cookie', 'a=b;'.repeat(3_500)],
    ['host', 'a.'.repeat(7_000)],
  ])('%s is parsed quickly', async (name, value) => {
    const others = name === 'authorization' ? '' : authorization;
    const host = name === 'host' ? '' : HOST;
    const head = `${LIST}${host}${CLOSE}${others}${name}: ${value}\r\n\r\n`;
    const took = await processorMs(async () => {
      const [status = 0] = await statusesOf(head);
      expect([200, 304, 400, 401]).toContain(status);
    });
    expect(took).toBeLessThan(5_000);
  });
});

it('works as before after all attacks', async () => {
  expect((await service.api.get('/api/order/list', token)).status).toBe(200);
  expect((await service.api.call('/health')).status).toBe(200);
});
