/**
 * Traffic of one installation while a server passes through a state: requests, events, revocations
 * and a follower of changes. It says what each of them saw during the state, and how soon after its
 * end all were as before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lettersIn } from '#shared/read-models/collections.ts';
import { pause } from '#shared/waiting.ts';
import { createApiClient } from '#test/api-client.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { Follower } from '#test/follower.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import {
  killAll,
  lastLines,
  listening,
  type ServiceProcess,
  startService,
} from '#test/service-process.ts';
import { succeeds } from '#test/succeeds.ts';
import { times } from '#test/times.ts';
import { fetchTokens, publishKeys } from '#test/tokens.ts';
import { note } from '../results.ts';
import { watchSlowness } from '../slowness.ts';

/** A state of a server, between up and down. */
export interface State {
  name: string;
  /** Brings the server into the state. @returns what ends it. */
  cause: () => Promise<() => Promise<unknown>>;
  lastsMs?: number;
  /** Statuses other than 200 and 503 that requests may get meanwhile, and why. */
  also?: readonly number[];
}

interface Servers {
  /** Addresses of the servers, and other variables. */
  settings: Record<string, string>;
  /** Variables that the test itself does not use. */
  ofServices?: Record<string, string>;
  close: () => Promise<unknown>;
}

/** To start servers or pass through a state on a busy machine. */
const LIMIT_MS = 300_000;

/**
 * Servers and traffic for the tests of a group.
 * @param of begins the name of each state.
 */
export function useStates<S extends Servers>(of: string, start: () => Promise<S>) {
  const found = {} as { servers: S; traffic: Awaited<ReturnType<typeof startTraffic>> };
  beforeAll(async () => {
    found.servers = await start();
    found.traffic = await startTraffic(found.servers);
  }, LIMIT_MS);
  afterAll(async () => {
    await found.traffic?.close();
    await found.servers?.close();
  }, LIMIT_MS);
  /** A test of a state. */
  const row = (name: string, cause: State['cause'], more: Partial<State> = {}) =>
    it(name, () => found.traffic.passThrough({ name: `${of}: ${name}`, cause, ...more }), LIMIT_MS);
  return { found, row };
}

const LIST = '/api/order/list?page_size=100';
const PATHS = [LIST, '/api/order/details/?order_id=o1'] as const;
const STORES = ['s0', 's1', 's2'] as const;
const ORDERS = 8;
const EVENT_MS = 50;
const REQUEST_MS = 20;
const LASTS_MS = 3_000;
/** How soon after a state everything is as before. */
const RESUMES_MS = 5_000;

type Order = Record<'id' | 'total', unknown>;

/** Timeouts are those of production. */
async function startTraffic({ settings, ofServices }: Servers) {
  await using begun = new AsyncDisposableStack();
  const installation = begun.use(
    await createInstallation({
      partitions: 3,
      settings: {
        ...DEFAULT_TIMEOUTS,
        KAFKA_SESSION_TIMEOUT_MS: '6000',
        LOG_REQUESTS_PERCENT: '0',
        ...settings,
      },
    }),
  );
  const services = (['query', 'projector'] as const).map((name) =>
    startService(name, { ...installation.env, ...ofServices }),
  ) as [ServiceProcess, ServiceProcess];
  begun.defer(() => killAll(services));
  const [query, projector] = services;
  const { url } = await listening(query);
  await projector.logged(({ msg }) => msg === 'projector started');
  const api = createApiClient(url);
  const over = new AbortController();
  begun.defer(async () => over.abort());
  const orders = publishOrders(installation, over.signal);
  /** A key and a token for each store. */
  const give = async (storeIds: readonly string[]) => {
    const keys = await publishKeys(installation, storeIds);
    return { keys, tokens: await fetchTokens(url, keys) };
  };
  const { tokens: readers } = await give(STORES);
  const get = (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
  };
  const listed = async (token: string): Promise<Order[]> => {
    const body = (await (await get(LIST, token)).json()) as { results?: Order[] };
    return body.results ?? [];
  };
  /** Whether requests show these orders of each store, or newer ones. */
  const areShown = async (wanted: ReadonlyMap<string, Order[]>) => {
    for (const [storeId, ofStore] of wanted) {
      const found = await listed(readers.get(storeId) ?? '').catch(() => []);
      if (!haveAll(found, ofStore)) return false;
    }
    return true;
  };
  await eventually('every order is shown', async () => {
    const newest = orders.newest();
    return STORES.every((id) => newest.get(id)?.length === ORDERS) && areShown(newest);
  });
  const asking = ask(get, [...readers.values()], over.signal);
  const follower = new Follower(api, readers.get('s0') ?? '', '/api/order/changes?page_size=100');
  const following = follower.followUntil(over.signal);
  following.catch(() => undefined);
  const running = begun.move();

  /** Revoked tokens. */
  const revoked: string[] = [];

  /**
   * Lets a server pass through a state. Fails where a process ends, an event is lost, an answer is
   * wrong, or service resumes late.
   */
  const passThrough = async ({ name, cause, lastsMs = LASTS_MS, also = [] }: State) => {
    const { keys, tokens } = await give(['s1']);
    const token = tokens.get('s1') ?? '';
    const slowness = watchSlowness();
    asking.take();
    const before = orders.published();
    const end = await cause();
    const revocations = keys.map(({ clientId }) => keyEvent(clientId, 2, { status: 'revoked' }));
    // While Kafka is away it tries again.
    const revoking = eventually('the revocation is published', () =>
      succeeds(installation.publishAccess(revocations)),
    );
    let refusedAt = 0;
    const refused = eventually('the revocation takes effect', async () => {
      const sentAt = performance.now();
      const response = await get(LIST, token).catch(() => null);
      await response?.arrayBuffer();
      if (response?.status === 401) refusedAt = sentAt;
      return refusedAt > 0;
    });
    await sleep(lastsMs);
    await end();
    const ended = performance.now();
    const since = () => performance.now() - ended;
    try {
      await revoking;
      revoked.push(token);
      const wanted = orders.newest();
      const copied = () => [...follower.copy.values()] as Order[];
      const resumesMs = await Promise.all([
        soon('a request is answered', () => asking.answeredAt() > ended).then(since),
        soon('every event is shown', () => areShown(wanted)).then(since),
        soon('the follower has it', () => haveAll(copied(), wanted.get('s0') ?? [])).then(since),
        refused.then(() => refusedAt - ended),
      ]);
      const { statuses, wrong } = asking.take();
      const boundMs = RESUMES_MS * slowness();
      const failed = [...statuses].filter(([status]) => status !== 200);
      const told = failed.map(([status, count]) => `${count} × ${status}`).join(', ');
      const events = orders.published() - before;
      note(`${name} (${told || 'every request 200'})`, resumesMs, boundMs, events);
      expect(wrong).toEqual([]);
      expect(failed.filter(([status]) => ![503, ...also].includes(status))).toEqual([]);
      expect(services.map(({ process }) => process.exitCode ?? process.signalCode)).toEqual([
        null,
        null,
      ]);
      expect(await letters(installation)).toEqual([]);
      expect(Math.max(...resumesMs)).toBeLessThan(boundMs);
      for (const one of revoked) expect([401, 503]).toContain((await api.get(LIST, one)).status);
      await Promise.race([following, Promise.resolve()]);
    } catch (error) {
      throw new Error(`${name}: ${String(error)}\n${lastLines(services)}`, { cause: error });
    }
  };
  /** Sends concurrent requests of one store. @returns how many were answered 429. */
  const flood = async (count: number) => {
    const answers = await Promise.all(times(count, () => get(LIST, readers.get('s2') ?? '')));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    return answers.filter(({ status }) => status === 429).length;
  };
  return { installation, passThrough, flood, close: () => running.disposeAsync() };
}

/** Far longer than it may take, so that a late row still tells how late. */
const soon = (what: string, check: () => boolean | Promise<boolean>) =>
  eventually(what, check, 12 * RESUMES_MS);

/** Whether there is each of the wanted orders, or a newer state of it. */
const haveAll = (orders: readonly Order[], wanted: readonly Order[]) =>
  wanted.every(({ id, total }) =>
    orders.some((one) => one.id === id && Number(one.total) >= Number(total)),
  );

/** Publishes changes of the same orders again and again; while Kafka is away it tries again. */
function publishOrders(installation: Installation, over: AbortSignal) {
  let sequence = 0;
  /** The last published totals, by store and order. */
  const totals = new Map<string, Map<string, string>>();
  void (async () => {
    do {
      const storeId = STORES[sequence % STORES.length] ?? '';
      const id = `o${Math.floor(sequence / STORES.length) % ORDERS}`;
      sequence += 1;
      const total = `${sequence}.00`;
      const event = orderEvent(id, { storeId, sequence, data: { total } });
      while (!over.aborted && !(await succeeds(installation.publish([event]))))
        await pause(100, over);
      totals.set(storeId, new Map([...(totals.get(storeId) ?? []), [id, total]]));
    } while (await pause(EVENT_MS, over));
  })();
  return {
    published: () => sequence,
    /** Every order as it was published last, by store. */
    newest: (): Map<string, Order[]> =>
      new Map(
        [...totals].map(([storeId, ofStore]) => [
          storeId,
          [...ofStore].map(([id, total]) => ({ id, total })),
        ]),
      ),
  };
}

/** Sends requests all the time, and keeps what was answered. */
function ask(
  get: (path: string, token: string) => Promise<Response>,
  tokens: readonly string[],
  over: AbortSignal,
) {
  let statuses = new Map<number, number>();
  let wrong: string[] = [];
  let answeredAt = 0;
  const one = async (index: number) => {
    const path = PATHS[index % PATHS.length] ?? LIST;
    const sentAt = performance.now();
    try {
      const response = await get(path, tokens[index % tokens.length] ?? '');
      const body = (await response.json()) as { count?: number; id?: string };
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status !== 200) return;
      answeredAt = Math.max(answeredAt, sentAt);
      // Every order was there before the first state.
      if (body.count !== ORDERS && body.id !== 'o1')
        wrong.push(`${path}: ${JSON.stringify(body).slice(0, 200)}`);
    } catch (error) {
      if (!over.aborted) wrong.push(`${path}: no answer: ${String(error)}`);
    }
  };
  void (async () => {
    for (let index = 0; await pause(REQUEST_MS, over); index += 1) void one(index);
  })();
  return {
    take() {
      const taken = { statuses, wrong };
      statuses = new Map();
      wrong = [];
      return taken;
    },
    /** When the last request that was answered 200 was sent. */
    answeredAt: () => answeredAt,
  };
}

/** The reasons of all dead letters. */
async function letters({ databases, environment }: Installation): Promise<string[]> {
  const found = await Promise.all(
    [databases.control, databases.generation(environment, 1)].map((db) =>
      lettersIn(db).find().toArray(),
    ),
  );
  return found.flat().map(({ reason, offset }) => `${offset}: ${reason}`);
}
