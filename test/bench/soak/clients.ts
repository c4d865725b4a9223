/**
 * Clients of a soak: a steady mix of requests, followers of changes, and keys that get revoked.
 * Counts every answer.
 */
import { hashSecret, newClientSecret } from '#shared/access/secrets.ts';
import { describeError } from '#shared/errors.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { pause } from '#shared/waiting.ts';
import type { Installation } from '#test/installation.ts';
import { percentile, rounded } from '../median.ts';
import { type BenchKey, publishKeys } from '../query/tokens.ts';
import type { Sample, Times } from './report.ts';

/** Counts answers between samples. */
export class Tally {
  #answers = new Map<string, number[]>();
  #wrong: Record<string, number> = {};
  #refused = 0;

  answered(kind: string, milliseconds: number): void {
    this.#answers.set(kind, [...(this.#answers.get(kind) ?? []), milliseconds]);
  }

  wrong(kind: string, what: string): void {
    const name = `${kind}: ${what}`;
    this.#wrong[name] = (this.#wrong[name] ?? 0) + 1;
  }

  refused(): void {
    this.#refused += 1;
  }

  /** The counts since the last call. */
  take(): Pick<Sample, 'answers' | 'wrong' | 'refused'> {
    const answers = Object.fromEntries(
      this.#answers.entries().map(([kind, times]) => [kind, timesOf(times)]),
    );
    const taken = { answers, wrong: this.#wrong, refused: this.#refused };
    this.#answers = new Map();
    [this.#wrong, this.#refused] = [{}, 0];
    return taken;
  }
}

function timesOf(times: readonly number[]): Times {
  const at = (share: number) => rounded(percentile(times, share), 1);
  return { count: times.length, p50_ms: at(0.5), p99_ms: at(0.99) };
}

interface Ask {
  kind: string;
  path: string;
  /** The correct statuses; by default 200. */
  expected?: readonly number[];
  headers?: Record<string, string>;
  /** Makes the request a POST. */
  form?: string;
  /** False for requests that wait for changes. */
  isTimed?: boolean;
}

const LIMIT_MS = 60_000;
/** The share of its lifetime after which a token is replaced. */
const RENEWED_AFTER = 0.8;

export class Client {
  readonly key: BenchKey;
  readonly #urls: readonly string[];
  readonly #tally: Tally;
  #token: Promise<string> | null = null;
  #renewAt = 0;
  #asked = 0;

  constructor(key: BenchKey, urls: readonly string[], tally: Tally) {
    this.key = key;
    this.#urls = urls;
    this.#tally = tally;
  }

  /** Sends a request with the token. @returns `null` for a wrong answer. */
  async get(ask: Ask) {
    if (this.#token === null || Date.now() > this.#renewAt) {
      this.#renewAt = Date.now() + LIMIT_MS;
      this.#token = this.newToken();
    }
    const token = await this.#token;
    // The token request was refused.
    if (token === '') return null;
    return this.send({ ...ask, headers: { authorization: `Bearer ${token}`, ...ask.headers } });
  }

  /** Gets another token for later requests. */
  async newToken(): Promise<string> {
    const answer = await this.askToken('token', [200]);
    const { access_token: token = '', expires_in: seconds = 0 } = (answer?.body ?? {}) as {
      access_token?: string;
      expires_in?: number;
    };
    this.#token = token === '' ? null : Promise.resolve(token);
    this.#renewAt = Date.now() + seconds * 1_000 * RENEWED_AFTER;
    return token;
  }

  askToken(
    kind: string,
    expected: readonly number[],
    { secret = this.key.secret, isTimed = true } = {},
  ) {
    const authorization = `Basic ${Buffer.from(`${this.key.clientId}:${secret}`).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    return this.send({
      kind,
      path: '/api/auth/token/',
      headers,
      form: 'grant_type=client_credentials',
      expected,
      isTimed,
    });
  }

  async send({ kind, path, expected = [200], headers = {}, form, isTimed = true }: Ask) {
    this.#asked += 1;
    const began = performance.now();
    try {
      const response = await fetch(`${this.#urls[this.#asked % this.#urls.length]}${path}`, {
        headers,
        signal: AbortSignal.timeout(LIMIT_MS),
        ...(form === undefined ? {} : { method: 'POST', body: form }),
      });
      const text = await response.text();
      const { status } = response;
      if (expected.includes(status)) {
        if (isTimed) this.#tally.answered(kind, performance.now() - began);
        const body = text === '' ? null : (JSON.parse(text) as unknown);
        return { status, etag: response.headers.get('etag') ?? '', body };
      }
      if (status === 503) this.#tally.refused();
      else this.#tally.wrong(kind, `${status} ${text.slice(0, 100)}`);
    } catch (error) {
      this.#tally.wrong(kind, describeError(error));
    }
    return null;
  }
}

/** Kinds of records that have a list and a details endpoint. */
const DETAILED = ['order', 'review', 'coupon', 'campaign', 'category', 'product'] as const;
const LISTS = [
  ...DETAILED.map((kind) => `/api/${kind}/list?page_size=20`),
  '/api/customer/list?page_size=20',
  '/api/option-group/list?page_size=20',
  '/api/customer/order-list/?page_size=20',
  '/api/order/list?page_size=20&status=delivered&status=concluded',
  '/api/order/list?page_size=20&order_type=delivery&created_from=2026-01-01T00:00:00',
  '/api/review/list?page_size=20&rating=5',
];
export const FEEDS = [...DETAILED, 'customer', 'option-group'] as const;
const SEARCHED = ['ana', 'mari', 'josé', 'silva', 'Souza', 'de', 'zz', '11 9'];

/** The share of each kind of request. */
const MIX: readonly (readonly [weight: number, ask: (client: Client) => Promise<unknown>])[] = [
  [26, (client) => client.get({ kind: 'list', path: pick(LISTS) })],
  [6, (client) => client.get({ kind: 'deep list', path: `${pick(LISTS)}&page=${3 + below(8)}` })],
  [20, readDetails],
  [8, (client) => client.get({ kind: 'menu', path: '/api/menu/' })],
  [6, (client) => client.get({ kind: 'store', path: '/api/store/info/' })],
  [
    8,
    (client) =>
      client.get({
        kind: 'search',
        path: `/api/customer/list?search=${encodeURI(pick(SEARCHED))}`,
      }),
  ],
  [
    9,
    (client) => client.get({ kind: 'changes', path: `/api/${pick(FEEDS)}/changes?page_size=20` }),
  ],
  [8, poll],
  [3, (client) => client.newToken()],
  [2, (client) => client.askToken('wrong secret', [401], { secret: newClientSecret() })],
  [2, sendWrongToken],
  [
    1,
    (client) =>
      client.get({ kind: 'wrong parameter', path: '/api/order/list?pagesize=3', expected: [422] }),
  ],
  [1, (client) => client.send({ kind: 'health', path: '/health' })],
];
const WEIGHTED = MIX.flatMap(([weight, ask]) => Array.from({ length: weight }, () => ask));
const TICK_MS = 50;

/** Sends requests at the rate until the signal is aborted, and waits for the last answers. */
export async function askSteadily(
  clients: readonly Client[],
  perSecond: number,
  over: AbortSignal,
): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const began = performance.now();
  let sent = 0;
  do {
    const due = ((performance.now() - began) * perSecond) / 1_000;
    for (; sent < due; sent += 1) {
      const one = pick(WEIGHTED)(pick(clients));
      running.add(one);
      void one.finally(() => running.delete(one));
    }
  } while (await pause(TICK_MS, over));
  await Promise.all(running);
}

/** Finds a record in a list and reads it. */
async function readDetails(client: Client): Promise<void> {
  const kind = pick(DETAILED);
  const listed = await client.get({
    kind: 'list',
    path: `/api/${kind}/list?page_size=1&page=${1 + below(30)}`,
  });
  const [first] = (listed?.body as { results: { id: string }[] } | undefined)?.results ?? [];
  // The record may have been deleted since.
  const details = {
    kind: 'details',
    path: `/api/${kind}/details/?${kind}_id=${first?.id}`,
    expected: [200, 404],
  };
  if (first !== undefined) await client.get(details);
}

async function sendWrongToken(client: Client): Promise<void> {
  const headers = { authorization: `Bearer ${newClientSecret()}` };
  await client.send({ kind: 'wrong token', path: '/api/order/list', headers, expected: [401] });
}

/** Reads a list, and polls it with its entity tag. */
async function poll(client: Client): Promise<void> {
  const path = pick(LISTS);
  const listed = await client.get({ kind: 'list', path });
  if (listed === null) return;
  const headers = { 'if-none-match': listed.etag };
  await client.get({ kind: 'list again', path, headers, expected: [200, 304] });
}

function pick<T>(items: readonly T[]): T {
  const item = items[below(items.length)];
  if (item === undefined) throw new RangeError('nothing to choose from');
  return item;
}

function below(end: number): number {
  return Math.floor(Math.random() * end);
}

/**
 * Followers wait for a part of each round only, since a service polls for changes while a client
 * waits.
 */
const ROUND_MS = 60_000;
const WAITING_MS = 15_000;
const WAIT_SECONDS = 5;
const RETRY_MS = 1_000;

/** Follows one kind of record from the beginning until the signal is aborted. */
export async function follow(client: Client, kind: string, over: AbortSignal): Promise<void> {
  let query = '';
  while (!over.aborted) {
    const inRound = Date.now() % ROUND_MS;
    if (inRound >= WAITING_MS) await pause(ROUND_MS - inRound, over);
    const path = `/api/${kind}/changes?page_size=100${query}`;
    const answer = await client.get({ kind: 'waiting', path, isTimed: false });
    if (answer === null) await pause(RETRY_MS, over);
    else query = `&wait=${WAIT_SECONDS}&after=${(answer.body as { next: string }).next}`;
  }
}

const KEY_EVERY_MS = 30_000;
const POLL_MS = 200;
const LIST = { path: '/api/order/list', isTimed: false };

/**
 * Creates keys one by one: each gets a token, sends a request, is revoked, and must be refused
 * afterwards.
 */
export async function makeAndRevoke(
  installation: Installation,
  storeIds: readonly string[],
  urls: readonly string[],
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  const until = async (kind: string, isSo: () => Promise<boolean>) => {
    const began = performance.now();
    while (!(await isSo())) {
      if (performance.now() - began > LIMIT_MS) return tally.wrong(kind, 'not in time');
      if (!(await pause(POLL_MS, over))) return;
    }
    tally.answered(kind, performance.now() - began);
  };
  for (let turn = 0; await pause(KEY_EVERY_MS, over); turn += 1) {
    const storeId = storeIds[turn % storeIds.length] ?? '';
    try {
      for (const key of await publishKeys(installation, [storeId])) {
        const client = new Client(key, urls, tally);
        const isKnown = async () =>
          (await client.askToken('new key', [200, 401], { isTimed: false }))?.status === 200;
        await until('new key counts', isKnown);
        await client.get({ ...LIST, kind: 'new key' });
        const data = { secret_sha256: hashSecret(key.secret), scopes: SCOPES, status: 'revoked' };
        await installation.publishAccess([
          { entity: 'access_key', storeId, subject: key.clientId, sequence: 2, data },
        ]);
        const revoked = { ...LIST, kind: 'revoked key', expected: [200, 401] };
        await until(
          'revoked key is refused',
          async () => (await client.get(revoked))?.status === 401,
        );
      }
    } catch (error) {
      tally.wrong('publishing a key', describeError(error));
    }
  }
}
