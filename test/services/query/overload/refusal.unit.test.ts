/** What is refused at the door is a whole HTTP answer, whatever was asked and however it was sent. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';
import { createListener } from '#query/listener.ts';
import { refuseOverloaded } from '#query/responses/send.ts';

const BODY = '{"code":"environment_unavailable","detail":"more is asked than can be answered now, try again later"}';
const NO_FILES = { certFile: null, keyFile: null };

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

let server: Server;
let port: number;
let isEnding = false;
/** Answers `/slow`. */
let answerSlow: () => void = () => undefined;

beforeAll(async () => {
  server = createListener(
    (request, response) => {
      if (request.url === '/slow') answerSlow = () => response.end('slow');
      else refuseOverloaded(request, response);
    },
    { tls: NO_FILES, isEnding: () => isEnding, logger: createLogger('query', 'silent') },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

/** A connection on which bytes are sent as they are. */
async function open() {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('close', () => (isClosed = true));
  await once(socket, 'connect');
  return {
    send: (text: string) => void socket.write(text, 'latin1'),
    /** The next answer; `null` where the connection was closed instead. */
    next: async (toHead = false): Promise<Answer | null> => {
      for (;;) {
        const answer = firstOf(received, toHead);
        if (answer !== null) {
          received = answer.rest;
          return answer.answer;
        }
        if (isClosed) return null;
        await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      }
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

function firstOf(received: string, toHead: boolean): { answer: Answer; rest: string } | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
    }),
  );
  const begin = end + '\r\n\r\n'.length;
  const bodyEnd = begin + (toHead ? 0 : Number(headers['content-length'] ?? 0));
  if (received.length < bodyEnd) return null;
  const answer = { status: Number(first.split(' ')[1]), headers, body: received.slice(begin, bodyEnd) };
  return { answer, rest: received.slice(bodyEnd) };
}

const get = (id: string, more = '') => `GET /api/order/list HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n${more}\r\n`;
const said = (id: string) =>
  expect.objectContaining({
    status: 503,
    body: BODY,
    headers: expect.objectContaining({ 'x-request-id': id }) as object,
  });

describe('a refusal for load', () => {
  it('has every header that answers have, and keeps the connection', async () => {
    using client = await open();
    for (const id of ['one', 'two']) {
      client.send(get(id));
      const answer = await client.next();
      expect(answer).toEqual(said(id));
      const { date, ...headers } = answer?.headers ?? {};
      expect(Math.abs(Date.parse(date ?? '') - Date.now())).toBeLessThan(60_000);
      expect(headers).toEqual({
        'retry-after': '2',
        'cache-control': 'private, no-cache',
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(BODY.length),
        'x-request-id': id,
        connection: 'keep-alive',
        'keep-alive': 'timeout=72',
      });
    }
  });

  it.each([
    ['none', ''],
    ['one that is not acceptable', 'X-Request-Id: a b\r\n'],
    ['two', 'X-Request-Id: a\r\nX-Request-Id: b\r\n'],
  ])('has an id of its own where the request has %s', async (_what, header) => {
    using client = await open();
    client.send(`GET / HTTP/1.1\r\nHost: a\r\n${header}\r\n`);
    expect((await client.next())?.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  });

  it('comes in its turn where requests are sent without waiting for answers', async () => {
    using client = await open();
    client.send(get('one') + get('two') + `GET /slow HTTP/1.1\r\nHost: a\r\n\r\n` + get('three') + get('four'));
    expect(await client.next()).toEqual(said('one'));
    expect(await client.next()).toEqual(said('two'));
    answerSlow();
    expect(await client.next()).toMatchObject({ status: 200, body: 'slow' });
    expect(await client.next()).toEqual(said('three'));
    expect(await client.next()).toEqual(said('four'));
    client.send(get('five'));
    expect(await client.next()).toEqual(said('five'));
  });

  it('has no body where HEAD was asked', async () => {
    using client = await open();
    client.send(get('head').replace('GET', 'HEAD') + get('next'));
    const answer = await client.next(true);
    expect(answer).toMatchObject({ status: 503, headers: { 'content-length': String(BODY.length) } });
    expect(await client.next()).toEqual(said('next'));
  });

  it.each([
    ['as long as it says', 'Content-Length: 10\r\n', 'GET / HTTP'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n', 'a\r\nGET / HTTP\r\n0\r\n\r\n'],
    ['that was announced', 'Content-Length: 10\r\nExpect: 100-continue\r\n', 'GET / HTTP'],
  ])('takes no body, %s, for the next request', async (_what, headers, body) => {
    using client = await open();
    for (const method of ['POST', 'GET']) {
      client.send(get(method, headers).replace('GET', method));
      let answer = await client.next();
      if (answer?.status === 100) answer = await client.next();
      expect(answer).toEqual(said(method));
      client.send(body + get('next'));
      expect(await client.next()).toEqual(said('next'));
    }
  });

  it.each([
    ['HTTP/1.1 and says so', get('last', 'Connection: close\r\n')],
    ['HTTP/1.0', get('last').replace('HTTP/1.1', 'HTTP/1.0')],
  ])('ends the connection where the client speaks %s', async (_what, request) => {
    using client = await open();
    client.send(request);
    const answer = await client.next();
    expect(answer).toEqual(said('last'));
    expect(answer?.headers['connection']).toBe('close');
    expect(await client.next()).toBeNull();
  });

  it('ends the connection where the service ends', async () => {
    using client = await open();
    client.send(get('one'));
    expect(await client.next()).toEqual(said('one'));
    isEnding = true;
    client.send(get('last'));
    const answer = await client.next();
    isEnding = false;
    expect(answer).toEqual(said('last'));
    expect(answer?.headers['connection']).toBe('close');
    expect(await client.next()).toBeNull();
  });
});
