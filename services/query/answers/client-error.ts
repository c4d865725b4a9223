/** Answers to what is no HTTP request at all: it never reaches the router, so the socket is written to directly. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '#shared/logging.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/request-id.ts';
import { invalidRequest, type Refusal } from './refusal.ts';
import { errorBody } from './send.ts';

/** How long what the client still sends is read and dropped, so that our answer is not lost in a reset. */
const LINGER_MS = 1_000;

/** The refusal for a failure of the HTTP parser. */
export function parserRefusal(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return invalidRequest('the request line or the headers are too large', 431);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return invalidRequest('the chunk extensions are too large', 413);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return invalidRequest('the request took too long to arrive', 408);
  return invalidRequest('the request is not well-formed HTTP');
}

/** Makes the listener of the server's `clientError`. */
export function clientErrorHandler(
  logger: Logger,
): (error: Error & { code?: string }, socket: Socket) => void {
  const answered = new WeakSet<Socket>();
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || answered.has(socket)) {
      if (!answered.has(socket)) socket.destroy();
      return;
    }
    answered.add(socket);
    const refusal = parserRefusal(error.code);
    const requestId = requestIdOf(undefined);
    logger.info({ request_id: requestId, status: refusal.status, reason: error.code }, 'malformed request');
    socket.end(rawAnswer(refusal, requestId));
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Answers CONNECT, which Node would end without a word: this is no proxy. */
export function refuseConnect({ headers }: IncomingMessage, socket: Duplex): void {
  const requestId = requestIdOf(headers[REQUEST_ID_HEADER]);
  socket.on('error', () => socket.destroy());
  socket.end(rawAnswer(invalidRequest('CONNECT is not served here'), requestId));
}

/** A whole HTTP response, after which the connection ends. */
export function rawAnswer(refusal: Refusal, requestId: string): string {
  const body = errorBody(refusal, false);
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
