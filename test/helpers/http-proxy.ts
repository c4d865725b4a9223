/** A proxy before the API, whose test decides what becomes of each request. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer<B = Buffer> {
  status: number;
  headers: Record<string, string>;
  body: B;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Asks the API, with other headers if given. */
  ask: (headers?: Record<string, string>) => Promise<Answer>;
}

export function send(
  response: ServerResponse,
  { status, headers, body }: Answer<Buffer | string>,
): void {
  response
    .setHeaders(new Map(Object.entries(headers)))
    .writeHead(status)
    .end(body);
}

/** Headers of one connection, and those that `fetch` sets itself. */
const OF_CONNECTION = /^(?:connection|content-length|host|keep-alive|transfer-encoding)$/;

/**
 * @param api its address.
 * @param prefix of the paths here, which the API does not know.
 */
export async function startHttpProxy(
  api: string,
  pass: (exchange: Exchange) => unknown,
  prefix = '',
) {
  const server = createServer((request, response) => {
    const ask = async (others: Record<string, string> = {}): Promise<Answer> => {
      const { method = '', url = '' } = request;
      const sent = Object.entries(request.headers as Record<string, string>);
      const headers = Object.fromEntries(sent.filter(([name]) => !OF_CONNECTION.test(name)));
      const answer = await fetch(`${api}${url.slice(prefix.length)}`, {
        method,
        headers: { ...headers, ...others, 'accept-encoding': 'identity' },
        body: method === 'POST' ? Buffer.concat(await request.toArray()) : null,
      });
      return {
        status: answer.status,
        headers: Object.fromEntries(
          [...answer.headers].filter(([name]) => !OF_CONNECTION.test(name)),
        ),
        body: Buffer.from(await answer.arrayBuffer()),
      };
    };
    // The API is away, or the client has gone.
    void (async () => pass({ request, response, ask }))().catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  };
  return { url: `http://127.0.0.1:${port}${prefix}`, close, [Symbol.asyncDispose]: close };
}
