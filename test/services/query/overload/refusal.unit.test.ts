import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refuseOverloaded } from '#query/responses/send.ts';

let server: Server;
beforeAll(async () => {
  server = createServer(refuseOverloaded);
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => server.close());

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, init);

const DETAIL = 'there are more requests than can be answered now, try again later';
const OF_DATA = { code: 'environment_unavailable', detail: DETAIL };
const OF_TOKENS = {
  error: 'temporarily_unavailable',
  error_description: DETAIL,
  code: 'temporarily_unavailable',
  detail: DETAIL,
};

it.each([
  ['/api/order/list', OF_DATA, { 'cache-control': 'private, no-cache' }],
  ['/api/order/changes?wait=30', OF_DATA, { 'cache-control': 'private, no-store' }],
  ['/api/order/%63hanges', OF_DATA, { 'cache-control': 'private, no-store' }],
  ['/api/auth/tok%65n/', OF_TOKENS, { 'cache-control': 'no-store', pragma: 'no-cache' }],
])('a refusal for overload at %s has the usual headers of answers', async (path, body, caching) => {
  const answer = await ask(path, { headers: { 'x-request-id': 'own' } });
  expect(answer.status).toBe(503);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'retry-after': '2',
    ...caching,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(JSON.stringify(body).length),
    'x-request-id': 'own',
  });
  expect(await answer.json()).toEqual(body);
});

it('a refusal for overload of a HEAD has no body, and a new id if that of the request is harmful', async () => {
  const answer = await ask('/', { method: 'HEAD', headers: { 'x-request-id': 'a b' } });
  expect([answer.status, await answer.text()]).toEqual([503, '']);
  expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
});
