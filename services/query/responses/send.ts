/**
 * Sends error responses: through the framework, without it during an overload, and raw if the
 * request is not valid HTTP.
 */
import {
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { isRefusal, isUnavailable } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/operations.ts';
import {
  asTokenRefusal,
  ENVIRONMENT_UNAVAILABLE,
  errorBody,
  INTERNAL_ERROR,
  invalidRequest,
  OVERLOADED,
  type Refusal,
  Refused,
} from './refusal.ts';

export const TOKEN_PATH = '/api/auth/token/';
/** Where people and browsers find the guides. */
export const GUIDES_PATH = '/docs/guides';

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { request } = reply;
  const toToken = pathOf(request.raw.url) === TOKEN_PATH;
  const { status, headers, code, detail } = toToken ? asTokenRefusal(refusal) : refusal;
  if (toToken) forbidStoring(reply);
  if (request.server.services.config.query.docs) {
    reply.header(
      'link',
      `<${GUIDES_PATH}/errors#${toToken ? 'token-endpoint' : code}>; rel="help"`,
    );
  }
  // An answer may fail after these were set.
  reply.removeHeader('content-encoding').removeHeader('etag');
  request.refusedFor = refusal.reason ?? code;
  request.clientId ??= refusal.clientId ?? null;
  return reply
    .code(status)
    .headers(headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorBody({ code, detail }, toToken)));
}

/** Nothing of the token endpoint may stay in a cache (RFC 6749 section 5.1). */
export function forbidStoring(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
}

/** The refusal for an error. It never holds the text of a foreign error. */
export function classify(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  // A right that a server withdrew is not a mistake of the caller either.
  if (isUnavailable(error) || isRefusal(error)) return ENVIRONMENT_UNAVAILABLE;
  // The framework gives its errors a status.
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (!(status >= 400 && status < 500)) return INTERNAL_ERROR;
  return invalidRequest(
    status === 413 ? 'the body is too large' : 'the request is malformed',
    status,
  );
}

/**
 * Makes what refuses requests before the framework. The answers are made once, for each kind of
 * path: at thousands a second, each costs as little as it can.
 */
function refuser(refusal: Refusal, more: Record<string, string> = {}) {
  const prepared = (caching: Record<string, string>, toToken = false) => {
    const body = JSON.stringify(errorBody(toToken ? asTokenRefusal(refusal) : refusal, toToken));
    const headers = {
      ...refusal.headers,
      ...caching,
      ...more,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
    };
    // Names and values alternate; the value of the last one is still missing.
    return { body, headers: [...Object.entries(headers).flat(), REQUEST_ID_HEADER] };
  };
  const data = prepared({ 'cache-control': 'private, no-cache' });
  const changes = prepared({ 'cache-control': 'private, no-store' });
  const token = prepared({ 'cache-control': 'no-store', pragma: 'no-cache' }, true);
  const preparedFor = (target: string) => {
    // The path is parsed only if it may make a difference.
    if (!/%|\/token|\/changes/.test(target)) return data;
    const path = pathOf(target);
    if (path === TOKEN_PATH) return token;
    return path.endsWith('/changes') ? changes : data;
  };
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { headers, body } = preparedFor(request.url ?? '');
    const requestId = requestIdOf(request.headers[REQUEST_ID_HEADER]);
    response.writeHead(refusal.status, [...headers, requestId]);
    response.end(body);
  };
}

export const refuseOverloaded = refuser(OVERLOADED);

/**
 * A request with more is refused: a decisive one could be among those that a parser leaves out.
 * Node refuses what is two above.
 */
export const MAX_HEADER_FIELDS = 200;
const refuseFields = refuser(
  invalidRequest(`a request may have ${MAX_HEADER_FIELDS} header fields`, 431),
  {
    // Its body may never come.
    connection: 'close',
  },
);

/** Refuses requests with too many header fields before anything else looks at them. */
export function refuseManyFields(handler: RequestListener): RequestListener {
  return (request, response) => {
    // Names and values alternate.
    if (request.rawHeaders.length <= 2 * MAX_HEADER_FIELDS) handler(request, response);
    else refuseFields(request, response);
  };
}

/** For so long the client's remaining bytes are read and dropped: a reset could lose our answer. */
const LINGER_MS = 1_000;

/** The refusal for a failure of the HTTP parser. */
export function parserRefusal(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return invalidRequest('the request line or the headers are too large', 431);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return invalidRequest('the chunk extensions are too large', 413);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return invalidRequest('the request took too long to arrive', 408);
  return invalidRequest('the request is not well-formed HTTP');
}

/** Makes the listener of the server's `clientError`. */
export function clientErrorHandler(
  logger: Logger,
): (error: Error & { code?: string }, socket: Socket) => void {
  const answered = new WeakSet<Socket>();
  return (error, socket) => {
    if (answered.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    answered.add(socket);
    const refusal = parserRefusal(error.code);
    const requestId = requestIdOf(undefined);
    logger.info(
      { request_id: requestId, status: refusal.status, reason: error.code },
      'malformed request',
    );
    endWith(socket, rawAnswer(refusal, requestId));
  };
}

function endWith(socket: Duplex, answer: string): void {
  socket.end(answer);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Refuses CONNECT: Node would close the connection without an answer. */
export function refuseConnect({ headers }: IncomingMessage, socket: Duplex): void {
  const requestId = requestIdOf(headers[REQUEST_ID_HEADER]);
  socket.on('error', () => socket.destroy());
  // Node no longer reads it or limits its time.
  socket.resume();
  endWith(socket, rawAnswer(invalidRequest('CONNECT is not served here'), requestId));
}

/** A whole HTTP response, after which the connection ends. */
function rawAnswer(refusal: Refusal, requestId: string): string {
  const body = JSON.stringify(errorBody(refusal, false));
  return [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** The decoded path of a request target; not decoded if that fails. */
export function pathOf(target: string | undefined): string {
  // A proxy may send the absolute form (RFC 9112 section 3.2.2).
  const path =
    (target ?? '').replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
