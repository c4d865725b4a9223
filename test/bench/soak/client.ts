/** An integration of one store: it keeps a token, gets a new one before that expires, and asks one query service after the other. */
import { describeError } from '#shared/errors.ts';
import type { BenchKey } from '../query/tokens.ts';
import type { Tally } from './tally.ts';

export interface Ask {
  kind: string;
  path: string;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** Every other status is wrong. */
  expected: readonly number[];
  /** Requests that wait for changes tell nothing about how long an answer takes. */
  isTimed?: boolean;
}

export interface Answer {
  status: number;
  etag: string | null;
  body: unknown;
}

/** Where it asks, and who counts. */
export interface Surroundings {
  urls: readonly string[];
  tally: Tally;
}

const LIMIT_MS = 60_000;
/** The part of its lifetime after which a token is replaced. */
const RENEWED_AFTER = 0.8;

let asked = 0;

export class Client {
  readonly key: BenchKey;
  readonly #surroundings: Surroundings;
  #token: Promise<string> | null = null;
  #renewAt = 0;

  constructor(key: BenchKey, surroundings: Surroundings) {
    this.key = key;
    this.#surroundings = surroundings;
  }

  /** Asks with the token. @returns `null` where the answer is not one of those expected. */
  async get(ask: Ask): Promise<Answer | null> {
    if (this.#token === null || Date.now() > this.#renewAt) {
      this.#renewAt = Date.now() + LIMIT_MS;
      this.#token = this.newToken();
    }
    const token = await this.#token;
    // The request for one was refused.
    if (token === '') return null;
    const authorization = `Bearer ${token}`;
    return this.send({ ...ask, headers: { authorization, ...ask.headers } });
  }

  /** Gets another token, and uses it from now on. */
  async newToken(): Promise<string> {
    const answer = await this.send(tokenRequest(this.key, 'token', [200]));
    const body = answer?.body as { access_token?: string; expires_in?: number } | undefined;
    if (body?.access_token === undefined) {
      this.#token = null;
      return '';
    }
    this.#token = Promise.resolve(body.access_token);
    this.#renewAt = Date.now() + (body.expires_in ?? 0) * 1_000 * RENEWED_AFTER;
    return body.access_token;
  }

  async send({
    kind,
    path,
    method = 'GET',
    headers = {},
    body,
    expected,
    isTimed = true,
  }: Ask): Promise<Answer | null> {
    const { urls, tally } = this.#surroundings;
    asked += 1;
    const began = performance.now();
    try {
      const response = await fetch(`${urls[asked % urls.length]}${path}`, {
        method,
        headers,
        signal: AbortSignal.timeout(LIMIT_MS),
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      const { status } = response;
      if (expected.includes(status)) {
        if (isTimed) tally.answered(kind, performance.now() - began);
        return {
          status,
          etag: response.headers.get('etag'),
          body: text === '' ? null : (JSON.parse(text) as unknown),
        };
      }
      if (status === 503) tally.refused(kind);
      else tally.wrong(kind, `${status} ${text.slice(0, 100)}`);
    } catch (error) {
      tally.wrong(kind, describeError(error));
    }
    return null;
  }
}

export function tokenRequest({ clientId, secret }: BenchKey, kind: string, expected: readonly number[]): Ask {
  return {
    kind,
    path: '/api/auth/token/',
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
    expected,
  };
}
