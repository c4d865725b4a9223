/** A proxy before the API that causes one fault after another, and notes what passes. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

interface Exchange {
  response: ServerResponse;
  /** Asks the API, with other headers if given. */
  ask: (headers?: Record<string, string>) => Promise<Answer>;
}

type Fault = (exchange: Exchange) => unknown;

/** What passed: times are of a monotonic clock, in milliseconds. */
export interface Passed {
  method: string;
  target: string;
  cameAt: number;
  leftAt: number;
  status: number;
  retryAfter: number;
}

export const FAULTS = {
  none: async ({ response, ask }) => send(response, await ask()),
  /** Never answers. */
  frozen: () => undefined,
  reset: ({ response }) => response.destroy(),
  html502: ({ response }) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html>502 Bad Gateway</html>'),
  /** A maintenance page where the API should be. */
  html200: ({ response }) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Soon back</html>'),
  redirected: ({ response }) =>
    response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
  /** The connection ends within the body, whose length is known. */
  cutBody: async ({ response, ask }) => {
    const { status, headers, body } = await ask();
    response.writeHead(status, { ...headers, 'content-length': String(body.length) });
    response.write(body.subarray(0, body.length / 2), () => response.destroy());
  },
  /** The connection ends within the body as if that were all. */
  endedBody: async ({ response, ask }) => {
    const { body } = await ask();
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n';
    response.socket?.end(Buffer.concat([Buffer.from(head), body.subarray(0, body.length / 2)]));
  },
  /** The API refuses the token, as if its session had been revoked. */
  otherToken: async ({ response, ask }) =>
    send(response, await ask({ authorization: 'Bearer revoked' })),
  quotaUsedUp: ({ response }) =>
    send(response, { status: 429, headers: { 'retry-after': '2' }, body: Buffer.from('') }),
} satisfies Record<string, Fault>;

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response
    .setHeaders(new Map(Object.entries(headers)))
    .writeHead(status)
    .end(body);
}

/** The faults of requests for data and for tokens, one after the other. */
export type Faults = Partial<Record<'data' | 'token', Fault[]>>;

/** @param api its address. */
export async function startFaultyProxy(api: string, { data = [], token = [] }: Faults) {
  const waiting = { data: [...data], token: [...token] };
  const passed: Passed[] = [];
  const server = createServer((request, response) => void pass(request, response));

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const note: Passed = {
      method,
      target: path,
      cameAt: performance.now(),
      leftAt: 0,
      status: 0,
      retryAfter: 0,
    };
    passed.push(note);
    response.on('close', () => {
      note.leftAt = performance.now();
      note.status = response.headersSent ? response.statusCode : 0;
      note.retryAfter = Number(response.getHeader('retry-after') ?? 0);
    });
    const body = method === 'POST' ? Buffer.concat(await request.toArray()) : null;
    const ask = async (others: Record<string, string> = {}): Promise<Answer> => {
      const {
        host: _host,
        connection: _connection,
        'accept-encoding': _encoding,
        ...headers
      } = request.headers;
      const sent = {
        ...(headers as Record<string, string>),
        ...others,
        'accept-encoding': 'identity',
      };
      const answer = await fetch(`${api}${path}`, { method, headers: sent, body });
      const given = [...answer.headers].filter(
        ([name]) => !/^(?:connection|keep-alive|transfer-encoding)$/.test(name),
      );
      return {
        status: answer.status,
        headers: Object.fromEntries(given),
        body: Buffer.from(await answer.arrayBuffer()),
      };
    };
    const fault = waiting[path.startsWith('/api/auth/') ? 'token' : 'data'].shift() ?? FAULTS.none;
    try {
      await fault({ response, ask });
    } catch {
      // The API is away, or the client has gone.
      response.destroy();
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
