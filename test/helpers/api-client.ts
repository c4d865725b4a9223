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

const CODES: Record<number, readonly string[]> = {
  400: ['invalid_request'],
  401: ['invalid_token'],
  403: ['insufficient_scope'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['invalid_request'],
  413: ['invalid_request'],
  422: ['invalid_parameters'],
  429: ['rate_limit_exceeded'],
  431: ['invalid_request'],
  500: ['internal_error'],
  503: ['environment_unavailable'],
};

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
      assert.deepEqual(Object.keys(answer.json as object), [
        'count',
        'page',
        'page_size',
        'results',
      ]);
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
  checkRules(answer, method, target);
  checkDocumented({ method, target, status, header: (name) => headers.get(name), body });
  return answer;
}

/** Asserts the rules of every answer. */
function checkRules(answer: Answer, method: string, path: string): void {
  const { status, headers, json } = answer;
  const pathname = path.split('?', 1)[0] ?? '';
  const about = `${method} ${path} answered ${status} ${answer.text.slice(0, 300)}`;
  assert.match(headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,128}$/, about);
  if (status !== 304 && json !== undefined) {
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', about);
  }
  if (status === 429 || status === 503)
    assert.match(headers.get('retry-after') ?? '', /^[1-9][0-9]*$/, about);
  if (pathname === TOKEN_PATH) checkTokenRules(answer, about);
  else if (status >= 400 && json !== undefined && pathname !== '/health') {
    assert.deepEqual(Object.keys(json as object), ['code', 'detail'], about);
    assert.ok(CODES[status]?.includes((json as ErrorAnswer).code), about);
    assert.notEqual((json as ErrorAnswer).detail, '', about);
  }
  if (status === 401 && pathname !== TOKEN_PATH) {
    assert.match(
      headers.get('www-authenticate') ?? '',
      /^Bearer realm="store-data", error="invalid_token", error_description="[^"\\]+"$/,
      about,
    );
    // A held request was counted before it was refused.
    if (!/[?&]wait=/.test(path)) assert.equal(headers.get('ratelimit'), null, about);
  }
  const isData = pathname.startsWith('/api/') && pathname !== TOKEN_PATH;
  checkQuotaRules(headers, isData, status, about);
  const isFeed = isData && pathname.endsWith('/changes');
  if (isFeed) {
    assert.equal(headers.get('etag'), null, about);
    assert.equal(headers.get('cache-control'), 'private, no-store', about);
  }
  if ((status === 200 || status === 304) && isData) {
    if (!isFeed) {
      assert.match(headers.get('etag') ?? '', /^W\/"[^"]+"$/, about);
      assert.equal(headers.get('cache-control'), 'private, no-cache', about);
    }
    assert.match(headers.get('vary') ?? '', /accept-encoding/, about);
  }
}

function checkTokenRules({ status, headers, json }: Answer, about: string): void {
  assert.equal(headers.get('cache-control'), 'no-store', about);
  if (status < 400 || json === undefined) return;
  const body = json as Record<string, string>;
  assert.deepEqual(Object.keys(body), ['error', 'error_description', 'code', 'detail'], about);
  assert.equal(body['code'], body['error'], about);
  assert.equal(body['detail'], body['error_description'], about);
  if (status === 401)
    assert.equal(headers.get('www-authenticate'), 'Basic realm="store-data"', about);
}

function checkQuotaRules(headers: Headers, isData: boolean, status: number, about: string): void {
  const policy = headers.get('ratelimit-policy');
  const state = headers.get('ratelimit');
  assert.equal(policy === null, state === null, about);
  if ([403, 422, 429, 304].includes(status) && isData) assert.notEqual(state, null, about);
  if (policy !== null) assert.match(policy, /^"store";q=\d+;w=\d+$/, about);
  if (state !== null) assert.match(state, /^"store";r=\d+;t=[1-9]\d*$/, about);
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
