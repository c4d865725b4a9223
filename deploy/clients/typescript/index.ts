/**
 * A client of the Store Data API: tokens, retries, lists and the change feed. It needs `fetch`, and
 * nothing else.
 */
import type * as Api from './types.ts';

export type * from './types.ts';

export type Scope = 'store' | 'crm' | 'order' | 'menu';

export interface ClientOptions {
  /** Such as `https://api.example.com`, or with a path behind a gateway. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** The scopes of the tokens; all of the key unless given. */
  scopes?: readonly Scope[];
  /** The limit of each attempt, in addition to `wait`: 10,000 ms unless given. */
  timeoutMs?: number;
  /**
   * How often a call is repeated after 429, 5xx and failures of the connection: 5 times unless
   * given.
   */
  retries?: number;
  /** The part of the store's quota that `changes` uses: a half unless given. */
  quotaShare?: number;
  /** Called before each repetition, for logs. */
  onRetry?: (retry: { error: StoreDataError; attempt: number; pauseMs: number }) => void;
  /** Another `fetch`, for example with a proxy. */
  fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  retries?: number | undefined;
}

export interface GetOptions extends CallOptions {
  /** The `etag` of the answer that is here already, or `''` to get a first one. */
  ifNoneMatch?: string | undefined;
}

/** What a call with `ifNoneMatch` gives. */
export type Conditional<T> =
  { unchanged: true; etag: string; value: null } | { unchanged: false; etag: string; value: T };

/** `Conditional` of calls with `ifNoneMatch`, else the value itself. */
export type Answer<T, O> = O extends { ifNoneMatch: string }
  ? Conditional<T>
  : 'ifNoneMatch' extends keyof O
    ? T | Conditional<T>
    : T;

/** All errors of this client but those of the caller's own signal. */
export class StoreDataError extends Error {
  override name = 'StoreDataError';
}

/** No answer, or only a part of one. */
export class ConnectionError extends StoreDataError {
  override name = 'ConnectionError';
}

/** The API, or a proxy before it, refused. */
export class ApiError extends StoreDataError {
  override name = 'ApiError';
  readonly status: number;
  /** Such as `not_found`; `unknown` in an answer that is not the API's. */
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  /** In seconds, if the answer said so. */
  readonly retryAfter: number | null;

  constructor(path: string, { response, json }: Received) {
    const { status, headers } = response;
    const { code, detail } = (json ?? {}) as Record<string, unknown>;
    const isOwn = typeof code === 'string' && typeof detail === 'string';
    const about = isOwn
      ? detail
      : `an answer of type ${headers.get('content-type') ?? 'none'}, not the API's`;
    const requestId = headers.get('x-request-id');
    super(
      `${path} answered ${status}: ${about}${requestId === null ? '' : ` (request ${requestId})`}`,
    );
    this.status = status;
    this.code = isOwn ? code : 'unknown';
    this.detail = about;
    this.requestId = requestId;
    const after = headers.get('retry-after') ?? '';
    this.retryAfter = /^\d+$/.test(after) ? Math.min(Number(after), DAY_SECONDS) : null;
  }
}

interface Received {
  response: Response;
  /** `undefined` if the body is not JSON. */
  json: unknown;
}

type Query = Record<
  string,
  string | number | boolean | readonly (string | number)[] | null | undefined
>;
type Init = Omit<RequestInit, 'headers'> & { headers: Record<string, string> };
type Signal = AbortSignal | undefined;
type Token = { value: string; renewAt: number };

const MAX_PAUSE_MS = 30_000;
const DAY_SECONDS = 86_400;
/**
 * A token is renewed so long before it expires, or after half its life: a held request is
 * authorized again at its end.
 */
const RENEW_EARLY_SECONDS = 60;
/** A proxy may end requests sooner than the API: after a cut the wait is halved, down to this. */
const MIN_WAIT_SECONDS = 5;

/**
 * The one connection of a client: its token, its retries, and how soon the quota allows the next
 * request.
 */
class Connection {
  readonly #options: ClientOptions;
  readonly #base: string;
  #held: Token | null = null;
  #renewal: Promise<Token> | null = null;
  #quietUntil = 0;
  /** The time that one request takes of the quota. */
  #paceMs = 1_000;

  constructor(options: ClientOptions) {
    const url = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : null;
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new TypeError('baseUrl is not an http(s) URL');
    if (url.username !== '' || url.password !== '')
      throw new TypeError('baseUrl must not hold credentials');
    if (!options.clientId || !options.clientSecret)
      throw new TypeError('clientId or clientSecret is missing');
    this.#options = options;
    this.#base = options.baseUrl.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  }

  /**
   * Gets JSON, with retries. If a proxy cuts a request that waits, `wait` of the query is halved.
   */
  async get(
    path: string,
    query: Query,
    options: GetOptions = {},
  ): Promise<{ etag: string; value: unknown }> {
    const { signal, timeoutMs = this.#options.timeoutMs ?? 10_000, ifNoneMatch = '' } = options;
    const { retries = this.#options.retries ?? 5 } = options;
    const headers: Record<string, string> =
      ifNoneMatch === '' ? {} : { 'if-none-match': ifNoneMatch };
    for (let attempt = 1; ; attempt += 1) {
      await sleep(this.#quietUntil - performance.now(), signal);
      const began = performance.now();
      const wait = Number(query['wait'] ?? 0);
      try {
        const target = `${path}${encode(query)}`;
        const { response, json } = await this.#authorized(
          target,
          headers,
          timeoutMs + wait * 1_000,
          signal,
        );
        return {
          etag: response.headers.get('etag') ?? '',
          value: response.status === 304 ? null : json,
        };
      } catch (error) {
        if (!(error instanceof StoreDataError)) throw error;
        const seconds = (performance.now() - began) / 1_000;
        // The API itself would have answered 200 at the end of the wait.
        if (isCut(error) && seconds > 1 && seconds < wait + 1) {
          query['wait'] = Math.min(wait, Math.max(MIN_WAIT_SECONDS, Math.floor(wait / 2)));
        }
        const pauseMs = pauseAfter(error, attempt);
        if (pauseMs === null || attempt > retries) throw error;
        this.#options.onRetry?.({ error, attempt, pauseMs });
        await sleep(pauseMs, signal);
      }
    }
  }

  /** Gets what one request answers. */
  async one<T, O extends GetOptions>(
    path: string,
    query: Query,
    options?: O,
  ): Promise<Answer<T, O>> {
    const { value, etag } = await this.get(path, query, options);
    const given =
      options?.ifNoneMatch === undefined ? value : { unchanged: value === null, etag, value };
    return given as Answer<T, O>;
  }

  /** How long to wait after `began` so that the requests stay within the share of the quota. */
  pauseMs(began: number, share = this.#options.quotaShare ?? 0.5): number {
    return began + this.#paceMs / share - performance.now();
  }

  /** One request with a token, and once more with a new one after a 401. */
  async #authorized(
    target: string,
    headers: Record<string, string>,
    ms: number,
    signal: Signal,
  ): Promise<Received> {
    for (let isRenewed = false; ; isRenewed = true) {
      const token = await limited(ms, signal, (own) => Promise.race([this.#token(), ended(own)]));
      signal?.throwIfAborted();
      if (token === undefined) throw new ConnectionError('no token in time');
      try {
        return await this.#send(
          target,
          { headers: { ...headers, authorization: `Bearer ${token.value}` } },
          ms,
          signal,
        );
      } catch (error) {
        if (isRenewed || !(error instanceof ApiError) || error.status !== 401) throw error;
        // Other calls may have renewed it meanwhile.
        if (this.#held === token) this.#held = null;
      }
    }
  }

  /**
   * One request for a token at a time, whatever the number of calls; each call repeats by itself.
   */
  async #token(): Promise<Token> {
    if (this.#held !== null && performance.now() < this.#held.renewAt) return this.#held;
    this.#renewal ??= this.#requestToken().finally(() => (this.#renewal = null));
    return this.#renewal;
  }

  async #requestToken(): Promise<Token> {
    const { clientId, clientSecret, scopes, timeoutMs = 10_000 } = this.#options;
    const bytes = new TextEncoder().encode(`${clientId}:${clientSecret}`);
    const headers = { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scopes !== undefined) body.set('scope', scopes.join(' '));
    const began = performance.now();
    const { json } = await this.#send(
      '/api/auth/token/',
      { method: 'POST', headers, body },
      timeoutMs,
      undefined,
    );
    const { access_token: value, expires_in: lifetime } = json as {
      access_token: unknown;
      expires_in: unknown;
    };
    // An invalid header would be shown by the error about it.
    if (
      typeof value !== 'string' ||
      !/^[\x21-\x7e]+$/.test(value) ||
      typeof lifetime !== 'number'
    ) {
      throw new StoreDataError('the answer of the token endpoint holds no token');
    }
    this.#held = {
      value,
      renewAt: began + Math.max(lifetime / 2, lifetime - RENEW_EARLY_SECONDS) * 1_000,
    };
    return this.#held;
  }

  /**
   * @throws {ApiError} for any status but 200 and 304.
   * @throws {ConnectionError} without a whole answer.
   */
  async #send(target: string, init: Init, ms: number, signal: Signal): Promise<Received> {
    const { fetch = globalThis.fetch } = this.#options;
    const path = target.split('?', 1)[0] ?? '';
    const { response, text } = await limited(ms, signal, async (own) => {
      try {
        const headers = { 'user-agent': 'store-data-client-typescript', ...init.headers };
        // A redirect could carry the secret elsewhere.
        const response = await fetch(`${this.#base}${target}`, {
          ...init,
          headers,
          redirect: 'manual',
          signal: own,
        });
        return { response, text: await response.text() };
      } catch (cause) {
        signal?.throwIfAborted();
        const { code = 'the connection failed' } =
          (cause as { cause?: { code?: string } }).cause ?? {};
        throw new ConnectionError(
          `${path}: no answer (${own.aborted ? `in ${ms / 1_000} s` : code})`,
          { cause },
        );
      }
    });
    const json = parse(text);
    const { status, headers } = response;
    const [, requests, seconds] =
      /;q=(\d+);w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '') ?? [];
    if (seconds !== undefined) this.#paceMs = (Number(seconds) * 1_000) / Number(requests);
    if (status === 304 || (status === 200 && typeof json === 'object' && json !== null))
      return { response, json };
    if (status === 200 && headers.get('content-type')?.includes('json') === true) {
      throw new ConnectionError(`${path}: the body ended early`);
    }
    const error = new ApiError(path, { response, json });
    // Other calls would be refused, and count, as well.
    if (status === 429) this.#quietUntil = performance.now() + (error.retryAfter ?? 0) * 1_000;
    throw error;
  }
}

/** A list endpoint. */
export class List<Summary, Filters> {
  readonly #connection: Connection;
  readonly #path: string;

  constructor(connection: Connection, path: string) {
    this.#connection = connection;
    this.#path = path;
  }

  /** All records that match, read page by page. */
  async *list(
    filters?: Filters & { page_size?: number },
    options?: CallOptions,
  ): AsyncGenerator<Summary, void> {
    for await (const { results } of this.pages(filters, options)) yield* results;
  }

  /** All pages, of 100 records unless `page_size` is given. */
  async *pages(
    filters?: Filters & { page_size?: number },
    options?: CallOptions,
  ): AsyncGenerator<Api.Page<Summary>, void> {
    for (let page = 1; ; page += 1) {
      const answer = await this.page({ ...(filters as Filters), page }, options);
      yield answer;
      if (answer.results.length === 0 || page * answer.page_size >= answer.count) return;
    }
  }

  /** One page. */
  page<O extends GetOptions = CallOptions>(
    parameters?: Filters & { page?: number; page_size?: number },
    options?: O,
  ): Promise<Answer<Api.Page<Summary>, O>> {
    return this.#connection.one(this.#path, { page_size: 100, ...parameters }, options);
  }
}

/** A list endpoint, and one for the details of a record. */
export class Records<Summary, Whole, Filters> extends List<Summary, Filters> {
  /** One record with its details. @throws {ApiError} with `status` 404 if there is none. */
  readonly get: <O extends GetOptions = CallOptions>(
    id: string,
    options?: O,
  ) => Promise<Answer<Whole, O>>;

  constructor(connection: Connection, kind: string) {
    super(connection, `/api/${kind}/list`);
    this.get = (id, options) =>
      connection.one(`/api/${kind}/details/`, { [`${kind}_id`]: id }, options);
  }
}

export type Client = ReturnType<typeof createClient>;

/**
 * @example const store = createClient({ baseUrl: 'https://api.example.com', clientId, clientSecret
 * });
 */
export function createClient(options: ClientOptions) {
  const connection = new Connection(options);
  return {
    coupons: new Records<Api.CouponSummary, Api.Coupon, Api.CouponsFilters>(connection, 'coupon'),
    customers: new List<Api.Customer, Api.CustomersFilters>(connection, '/api/customer/list'),
    customerOrders: new List<Api.OrderSummary, Api.CustomerOrdersFilters>(
      connection,
      '/api/customer/order-list/',
    ),
    reviews: new Records<Api.ReviewSummary, Api.Review, Api.ReviewsFilters>(connection, 'review'),
    campaigns: new Records<Api.CampaignSummary, Api.Campaign, Api.CampaignsFilters>(
      connection,
      'campaign',
    ),
    orders: new Records<Api.OrderSummary, Api.Order, Api.OrdersFilters>(connection, 'order'),
    categories: new Records<Api.CategorySummary, Api.Category, unknown>(connection, 'category'),
    products: new Records<Api.ProductSummary, Api.Product, Api.ProductsFilters>(
      connection,
      'product',
    ),
    optionGroups: new List<Api.OptionGroup, unknown>(connection, '/api/option-group/list'),
    /** The store that the key belongs to. */
    info: <O extends GetOptions = CallOptions>(options?: O) =>
      connection.one<Api.StoreInfo, O>('/api/store/info/', {}, options),
    /** What the store sells now. */
    menu: <O extends GetOptions = CallOptions>(options?: O) =>
      connection.one<Api.Menu, O>('/api/menu/', {}, options),
    /**
     * Follows changes without end, with retries without limit unless `retries` is given. It asks
     * for the next batch when the loop body is done with this one: a `next` that was stored there
     * misses nothing.
     */
    async *changes<K extends Api.Kind = Api.Kind, D extends Api.Detail = 'whole'>(
      parameters: Api.ChangesParameters<K, D> = {},
      options: CallOptions & { quotaShare?: number } = {},
    ): AsyncGenerator<Api.Batch<K, D>, never> {
      const { records = 'whole', page_size = 1_000, wait = 30 } = parameters;
      const query: Query = { ...parameters, records, page_size, wait };
      const call = { ...options, retries: options.retries ?? Infinity };
      for (;;) {
        const began = performance.now();
        const batch = (await connection.get('/api/changes', query, call)).value as Api.Batch<K, D>;
        yield batch;
        query['after'] = batch.next;
        await sleep(connection.pauseMs(began, options.quotaShare), options.signal);
      }
    },
  };
}

/**
 * The instant of a local date-time of the API.
 * @param timezoneOffset of the store, or of the batch that the record came with.
 */
export function toInstant(localDateTime: string, timezoneOffset: string): Date {
  const instant = new Date(`${localDateTime}${timezoneOffset}`);
  if (Number.isNaN(instant.getTime()))
    throw new RangeError('not a local date-time and an offset of the API');
  return instant;
}

/** The pause before another attempt; `null` if it would be refused too. */
function pauseAfter(error: StoreDataError, attempt: number): number | null {
  const growing = Math.min(500 * 2 ** attempt, MAX_PAUSE_MS) * (0.75 + Math.random() / 2);
  if (error instanceof ConnectionError) return growing;
  if (!(error instanceof ApiError) || (error.status < 500 && error.status !== 429)) return null;
  const asked = error.retryAfter === null ? null : error.retryAfter * 1_000;
  return error.status === 429 ? (asked ?? growing) : Math.max(asked ?? 0, growing);
}

function isCut(error: StoreDataError): boolean {
  return (
    error instanceof ConnectionError ||
    (error instanceof ApiError && [502, 504].includes(error.status))
  );
}

/**
 * An empty list becomes an empty value, which the API refuses: leaving it out would give
 * everything.
 */
function encode(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    const values = Array.isArray(value) ? value : [value];
    for (const each of values.length === 0 ? [''] : values) pairs.append(name, String(each));
  }
  return pairs.size === 0 ? '' : `?${pairs.toString()}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Aborts a signal of its own with the caller's, or after some time. `AbortSignal.any` would leave a
 * trace at a long-lived signal each time.
 */
async function limited<T>(
  ms: number,
  signal: Signal,
  run: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const stop = () => own.abort();
  const timer = setTimeout(stop, Math.min(ms, DAY_SECONDS * 1_000));
  signal?.addEventListener('abort', stop);
  try {
    signal?.throwIfAborted();
    return await run(own.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

const ended = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

async function sleep(ms: number, signal: Signal): Promise<void> {
  if (ms > 0) await limited(ms, signal, ended);
  signal?.throwIfAborted();
}
