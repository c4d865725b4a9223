/**
 * A client of the query service for tests, over real HTTP. It asserts for every answer that rules
 * R7.1 to R7.8 hold and that the OpenAPI document describes it, so that no test can forget to.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { checkDocumented } from './documented.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** `undefined` where there is no body. */
  json: unknown;
}

export interface ErrorAnswer {
  code: string;
  detail: string;
  /** Of the token endpoint. */
  error?: string;
  error_description?: string;
}

export interface ListBody {
  count: number;
  page: number;
  page_size: number;
  results: Record<string, unknown>[];
}

export interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

export const TOKEN_PATH = '/api/auth/token/';

export interface ApiClient {
  call: (path: string, call?: Call) => Promise<Answer>;
  get: (path: string, token: string, headers?: Record<string, string>) => Promise<Answer>;
  /** Gets a list; asserts status 200. */
  list: (path: string, token: string) => Promise<ListBody>;
  /** Requests a token with Basic credentials. */
  askToken: (clientId: string, secret: string, form?: string) => Promise<Answer>;
  /** Gets a token; asserts status 200. */
  token: (clientId: string, secret: string, form?: string) => Promise<string>;
}

/** The document takes its codes from the service, so that both would be wrong alike. */
const CODES: Record<number, string> = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'invalid_request',
  413: 'invalid_request',
  422: 'invalid_parameters',
  429: 'rate_limit_exceeded',
  431: 'invalid_request',
  500: 'internal_error',
  503: 'environment_unavailable',
};

/** The fields of a list, of an error, and of one of the token endpoint: exactly these, in this order. */
const ENVELOPE = ['count', 'page', 'page_size', 'results'];
const ERROR = ['code', 'detail'];
const TOKEN_ERROR = ['error', 'error_description', ...ERROR];

/** Makes a client of the service at a URL. */
export function createApiClient(url: string): ApiClient {
  const call: ApiClient['call'] = async (path, { method = 'GET', headers = {}, body } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return checked(method, path, response.status, response.headers, await response.text());
  };
  const askToken: ApiClient['askToken'] = (
    clientId,
    secret,
    form = 'grant_type=client_credentials',
  ) =>
    call(TOKEN_PATH, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form,
    });
  const get: ApiClient['get'] = (path, token, headers = {}) =>
    call(path, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return {
    call,
    get,
    askToken,
    async list(path, token) {
      const answer = await get(path, token);
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      assert.deepEqual(Object.keys(answer.json as object), ENVELOPE);
      return answer.json as ListBody;
    },
    async token(clientId, secret, form) {
      const answer = await askToken(clientId, secret, form);
      assert.equal(answer.status, 200, answer.text);
      return (answer.json as { access_token: string }).access_token;
    },
  };
}

/** Asserts the general rules and the document, and returns the answer. */
function checked(
  method: string,
  target: string,
  status: number,
  headers: Headers,
  body: string,
): Answer {
  const answer = {
    status,
    headers,
    text: body,
    json: body === '' ? undefined : (JSON.parse(body) as unknown),
  };
  checkRules(answer, target, `${method} ${target} answered ${status} ${body.slice(0, 300)}`);
  checkDocumented({ method, target, status, header: (name) => headers.get(name), body });
  return answer;
}

/**
 * Asserts what the rules demand of every answer, in words of their own where the document has them
 * from the service.
 */
function checkRules({ status, headers, json }: Answer, target: string, about: string): void {
  const path = target.split('?', 1)[0] ?? '';
  const isToken = path === TOKEN_PATH;
  const isData = path.startsWith('/api/') && !isToken;
  const matches = (name: string, pattern: RegExp) =>
    assert.match(headers.get(name) ?? '', pattern, about);
  matches('x-request-id', /^[A-Za-z0-9._-]{1,128}$/);
  if (status !== 304 && json !== undefined) {
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', about);
  }
  if (status >= 400 && json !== undefined && path !== '/health') {
    const { code, detail, error = code, error_description = detail } = json as ErrorAnswer;
    assert.deepEqual(Object.keys(json as object), isToken ? TOKEN_ERROR : ERROR, about);
    assert.notEqual(detail, '', about);
    assert.deepEqual([error, error_description], [code, detail], about);
    if (!isToken) assert.equal(code, CODES[status], about);
  }
  const bearer = /^Bearer realm="store-data", error="invalid_token", error_description="[^"\\]+"$/;
  if (status === 401) matches('www-authenticate', isToken ? /^Basic realm="store-data"$/ : bearer);
  if (status === 429 || status === 503) matches('retry-after', /^[1-9][0-9]*$/);
  const quota = headers.get('ratelimit');
  assert.equal(headers.get('ratelimit-policy') === null, quota === null, about);
  if (isData && [304, 403, 422, 429].includes(status)) assert.notEqual(quota, null, about);
  if (quota !== null) {
    matches('ratelimit', /^"store";r=\d+;t=[1-9]\d*$/);
    matches('ratelimit-policy', /^"store";q=\d+;w=\d+$/);
  }
  // A held request was counted before it was refused.
  if (status === 401 && !/[?&]wait=/.test(target)) assert.equal(quota, null, about);
  // Refusals too, also those that the document leaves open.
  if (isToken) matches('cache-control', /^no-store$/);
  const isRead = isData && (status === 200 || status === 304);
  if (isRead) matches('vary', /accept-encoding/);
  if (isData && path.endsWith('/changes')) {
    assert.equal(headers.get('etag'), null, about);
    matches('cache-control', /^private, no-store$/);
  } else if (isRead) {
    matches('etag', /^W\/"[^"]+"$/);
    matches('cache-control', /^private, no-cache$/);
  }
}

/** The remaining requests in the headers of an answer. */
export function remainingOf({ headers }: Answer): number {
  return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
}

/** Sends raw bytes, and reads the answer until the server closes the connection. */
export async function sendRaw(url: string, bytes: string): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
  socket.setTimeout(60_000, () => socket.destroy(new Error('no answer in time')));
  const [head = '', body = ''] = (await text(socket)).split(/\r\n\r\n(.*)/s);
  const [line = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((header): [string, string] => {
      const [name = '', value = ''] = header.split(/: (.*)/);
      return [name, value];
    }),
  );
  const [method = '', target = ''] = bytes.split(/[ \r\n]/, 2);
  return checked(method, target, Number(line.split(' ')[1]), headers, body);
}
