/** A proxy before the API that causes one fault after another, and notes what passes. */
import { type Exchange, send, startHttpProxy } from '#test/http-proxy.ts';

export type Fault = (exchange: Exchange) => unknown;

/** What passed: times are of a monotonic clock, in milliseconds. */
export interface Passed {
  /** POST for a token. */
  method: string;
  cameAt: number;
  leftAt: number;
  status: number;
}

const answering =
  (status: number, headers: Record<string, string>, body = ''): Fault =>
  ({ response }) =>
    send(response, { status, headers, body });
const HTML = { 'content-type': 'text/html' };

export const FAULTS = {
  none: async ({ response, ask }) => send(response, await ask()),
  /** Never answers. */
  frozen: () => undefined,
  reset: ({ response }) => response.destroy(),
  html502: answering(502, HTML, '<html>502 Bad Gateway</html>'),
  /** A maintenance page where the API should be. */
  html200: answering(200, HTML, '<html>Soon back</html>'),
  redirected: answering(302, { location: 'http://127.0.0.1:1/elsewhere' }),
  quotaUsedUp: answering(429, { 'retry-after': '2' }),
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
} satisfies Record<string, Fault>;

/**
 * @param api its address.
 * @param data the faults of requests for data, one after the other; `token` those for tokens.
 */
export async function startFaultyProxy(
  api: string,
  data: readonly Fault[] = [],
  token: readonly Fault[] = [],
) {
  const waiting = { data: data.values(), token: token.values() };
  const passed: Passed[] = [];
  const proxy = await startHttpProxy(api, (exchange) => {
    const { request, response } = exchange;
    const { method = '' } = request;
    const note = { method, cameAt: performance.now(), leftAt: 0, status: 0 };
    passed.push(note);
    response.on('close', () => {
      note.leftAt = performance.now();
      note.status = response.headersSent ? response.statusCode : 0;
    });
    const fault = waiting[method === 'POST' ? 'token' : 'data'].next();
    return (fault.value ?? FAULTS.none)(exchange);
  });
  return { ...proxy, passed };
}
