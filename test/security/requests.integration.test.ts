/**
 * Ambiguous requests (request smuggling) get one refusal, and the bytes after them are not read.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { processorMs } from '#test/patience.ts';
import { times } from '#test/times.ts';
import { dataRoutes, targetOf } from './data-routes.ts';
import { expectHarmless } from './harmless.ts';

const HOST = 'Host: x\r\n';
const CLOSE = 'Connection: close\r\n';
const LIST = 'GET /api/order/list HTTP/1.1\r\n';
const HEALTH = `GET /health HTTP/1.1\r\n${HOST}`;
const POST = `POST ${TOKEN_PATH} HTTP/1.1\r\n${HOST}`;
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const BASIC = 'Authorization: Basic ZnVsbDpzZWNyZXQ=\r\n';
const WRONG = 'Authorization: Bearer x\r\n';
/** The smuggled request. Its answer would be the only 404 here. */
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;

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
  const { hostname: host, port } = new URL(service.url);
  const socket = connect({ host, port: Number(port) }, () => socket.write(bytes, 'latin1'));
  socket.setTimeout(60_000, () => socket.destroy(new Error('the connection stays open')));
  const received = await text(socket);
  expect(received).not.toContain(token);
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** The statuses of a request for a list with these headers, on a connection of its own. */
const listed = (headers: string) => statusesOf(`${LIST}${HOST}${CLOSE}${headers}\r\n`);

describe('the body of a request', () => {
  const LAST = `${LIST}${HOST}${CLOSE}\r\n`;

  it.each([
    ['without a length', '\r\n'],
    ['of no bytes', 'Content-Length: 0\r\n\r\n'],
    ['of no chunks', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ])('%s is refused, also if there are many', async (_, rest) => {
    const asked = times(40, () => statusesOf(`${POST}${FORM}${rest}${LAST}`));
    expect(await Promise.all(asked)).toEqual(times(40, () => [400, 401]));
  });

  it('of 300 KiB, where none is read, leaves its connection to the next request', async () => {
    const length = 300 * 1_024;
    const head = `POST /api/order/list HTTP/1.1\r\n${HOST}${FORM}Content-Length: ${length}\r\n\r\n`;
    expect(await statusesOf(head + 'x'.repeat(length) + LAST)).toEqual([405, 401]);
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
    ['a blank before the first header', '\r\n', `${LIST} ${HOST}`],
    ['lines ended by LF', '\n', `${LIST}${HOST}`.replaceAll('\r\n', '\n')],
    ['another version', '\r\n', `GET /health HTTP/1.2\r\n${HOST}`],
    ['the preface of HTTP/2', 'SM\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\n'],
    ['a blank in the path', '\r\n', `GET /he alth HTTP/1.1\r\n${HOST}`],
    [
      'chunks in HTTP/1.0',
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      POST.replace('1.1', '1.0'),
    ],
  ])('is refused with %s', async (_what, rest, head = POST) => {
    expect(await statusesOf(`${head}${rest}${SMUGGLED}`)).toEqual([400]);
  });

  it('separates bodies from the following requests', async () => {
    const last = `${HEALTH}${CLOSE}\r\n`;
    const { length } = SMUGGLED;
    const chunk = `${length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;
    for (const body of [
      `Content-Length: ${length}\r\n\r\n${SMUGGLED}`,
      `Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    ])
      expect(await statusesOf(`${HEALTH}${body}${last}`)).toEqual([200, 200]);
    expect(await statusesOf(`${`${HEALTH}\r\n`.repeat(20)}${last}`)).toHaveLength(21);
  });
});

describe('a header that must come once', () => {
  const right = () => authorization;
  it.each([
    ['a good and a bad Authorization', [right, () => WRONG]],
    ['a bad and a good Authorization', [() => WRONG, right]],
    ['the same Authorization twice', [right, right]],
    ['two Host', [() => HOST, right]],
    ['another Content-Type', [right, () => 'Content-Type: text/plain\r\n', () => FORM]],
    ['another Content-Type after', [right, () => FORM, () => 'Content-Type: text/plain\r\n']],
  ])('is refused: %s', async (_what, both) => {
    const headers = both.map((header) => header()).join('');
    expect(await listed(headers)).toEqual([400]);
    // Also at the token endpoint, with valid credentials.
    const form = `${FORM}Content-Length: 29\r\n${CLOSE}\r\ngrant_type=client_credentials`;
    const request = `${POST}${headers.replaceAll(authorization, BASIC)}${form}`;
    expect(await statusesOf(request)).toEqual([400]);
  });

  it('is found among as many others as a request may have, and refused with them beyond', async () => {
    // With Host, Connection and two Authorization these are 200 fields.
    const many = 'a:\r\n'.repeat(196);
    expect(await listed(authorization + many + WRONG)).toEqual([400]);
    expect(await listed(many + authorization)).toEqual([200]);
    for (const others of [2, 3_300])
      expect(await listed(many + 'a:\r\n'.repeat(others) + authorization + WRONG)).toEqual([431]);
  });
});

describe('Authorization', () => {
  it.each([
    ['a folded value', 'Authorization: Bearer\r\n TOKEN\r\n', 400],
    ['a NUL at its end', 'Authorization: Bearer TOKEN\0\r\n', 400],
    ['a blank before the colon', 'Authorization : Bearer TOKEN\r\n', 400],
    ['a tab between scheme and token', 'Authorization: Bearer\tTOKEN\r\n', 401],
    ['a name with an underscore', 'HTTP_Authorization: Bearer TOKEN\r\n', 401],
    [
      'a place in a trailer',
      'Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\nAuthorization: Bearer TOKEN\r\n',
      401,
    ],
    ['blanks and tabs around it, which HTTP allows', 'Authorization:\t Bearer TOKEN \t\r\n', 200],
    ['a scheme in another case, which HTTP allows', 'authorization: bEARER TOKEN\r\n', 200],
    [
      'itself named hop-by-hop',
      'Connection: close, Authorization\r\nAuthorization: Bearer TOKEN\r\n',
      200,
    ],
  ])('with %s', async (_what, header, status) => {
    expect(await listed(header.replace('TOKEN', token))).toEqual([status]);
  });
});

describe('the host and the target', () => {
  it.each([
    ...['a b', 'a/b', 'user@x', 'x, y', 'x:port', '\xff'].map((host) => [host, 400] as const),
    ...['x:8080', '[::1]:80', 'a_b-c.example.', ''].map((host) => [host, 200] as const),
  ])('the host %j is answered %d', async (host, status) => {
    const request = `${LIST}Host: ${host}\r\n${CLOSE}${authorization}\r\n`;
    expect(await statusesOf(request)).toEqual([status]);
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
    'x-forwarded-proto': 'https',
    forwarded: 'for=127.0.0.1;host=evil.example;proto=https',
    'x-original-url': '/health',
    'x-store-id': 's2',
    'x-environment': 'sandbox',
    'x-http-method-override': 'DELETE',
    'accept-version': '2',
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
      expectHarmless(answer, target, ['evil.example']);
    }
  });

  it('do not change the method', async () => {
    const headers = {
      authorization: `Bearer ${token}`,
      'x-http-method-override': 'GET',
      'x-method-override': 'GET',
      'content-type': 'application/x-www-form-urlencoded',
    };
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const call = { method, headers, body: '_method=GET' };
      expect((await service.api.call('/api/order/list?_method=GET', call)).status).toBe(405);
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
    ['host', 'a.'.repeat(7_000)],
  ])('%s is parsed quickly', async (name, value) => {
    const others = name === 'authorization' ? '' : authorization;
    const host = name === 'host' ? '' : HOST;
    const request = `${LIST}${host}${CLOSE}${others}${name}: ${value}\r\n\r\n`;
    const took = await processorMs(async () => {
      const [status = 0] = await statusesOf(request);
      expect([200, 304, 400, 401]).toContain(status);
    });
    expect(took).toBeLessThan(5_000);
  });
});
