/** A client as an integration writes one, what it asks, what it follows, and how long answers take. */
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import { rounded } from '../median.ts';
import type { BenchKey } from '../query/tokens.ts';
import type { Sample, Times } from './report.ts';

export class Tally {
  #answers = new Map<string, number[]>();
  #wrong: Record<string, number> = {};
  #refused: Record<string, number> = {};

  answered(kind: string, milliseconds: number): void {
    const times = this.#answers.get(kind);
    if (times === undefined) this.#answers.set(kind, [milliseconds]);
    else times.push(milliseconds);
  }

  wrong(kind: string, what: string): void {
    const name = `${kind}: ${what}`;
    this.#wrong[name] = (this.#wrong[name] ?? 0) + 1;
  }

  refused(kind: string): void {
    this.#refused[kind] = (this.#refused[kind] ?? 0) + 1;
  }

  /** What it was since the last call. */
  take(): Pick<Sample, 'answers' | 'wrong' | 'refused'> {
    const answers = Object.fromEntries(this.#answers.entries().map(([kind, times]) => [kind, timesOf(times)]));
    const taken = { answers, wrong: this.#wrong, refused: this.#refused };
    this.#answers = new Map();
    [this.#wrong, this.#refused] = [{}, {}];
    return taken;
  }
}

function timesOf(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.ceil(sorted.length * share) - 1] ?? 0, 1);
  return { count: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99) };
}

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

/** All of them wait for some seconds of each round, and are away for the rest: where somebody waits services look for changes often. */
const ROUND_MS = 60_000;
const WAITING_MS = 15_000;
const WAIT_SECONDS = 5;
const AGAIN_MS = 1_000;

/** Follows one kind of records from the beginning until the signal is aborted. */
export async function follow(client: Client, kind: string, over: AbortSignal): Promise<void> {
  let query = '';
  while (!over.aborted) {
    const inRound = Date.now() % ROUND_MS;
    if (inRound >= WAITING_MS) await pause(ROUND_MS - inRound, over);
    const answer = await client.get({
      kind: 'waiting',
      path: `/api/${kind}/changes?page_size=100${query}`,
      expected: [200],
      isTimed: false,
    });
    if (answer === null) {
      await pause(AGAIN_MS, over);
      continue;
    }
    query = `&wait=${WAIT_SECONDS}&after=${(answer.body as { next: string }).next}`;
  }
}
