/**
 * The answer to what there is no room for, made without the framework: when thousands a second are refused, what one costs is
 * taken from those that are answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/request-id.ts';
import { pathOf, TOKEN_PATH } from '../responses/send.ts';
import { asTokenRefusal, errorBody, OVERLOADED } from '../responses/refusal.ts';

const DATA = prepare({ 'cache-control': 'private, no-cache' });
const CHANGES = prepare({ 'cache-control': 'private, no-store' });
const TOKEN = prepare({ 'cache-control': 'no-store', pragma: 'no-cache' }, true);

/** Of its headers names and values alternate; the last name is still without a value. */
function prepare(caching: Record<string, string>, toToken = false) {
  const refusal = toToken ? asTokenRefusal(OVERLOADED) : OVERLOADED;
  const body = JSON.stringify(errorBody(refusal, toToken));
  const headers = {
    ...refusal.headers,
    ...caching,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  return { body, headers: [...Object.entries(headers).flat(), REQUEST_ID_HEADER] };
}

export function refuse(request: IncomingMessage, response: ServerResponse): void {
  const { headers, body } = preparedFor(request.url ?? '');
  response.writeHead(503, [...headers, requestIdOf(request.headers[REQUEST_ID_HEADER])]);
  response.end(body);
}

/** The path is taken apart only where it may make a difference. */
function preparedFor(target: string): typeof DATA {
  if (target.includes('/token') && pathOf(target) === TOKEN_PATH) return TOKEN;
  return target.includes('/changes') && pathOf(target).endsWith('/changes') ? CHANGES : DATA;
}
