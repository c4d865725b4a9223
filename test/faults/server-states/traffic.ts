/**
 * Traffic of one installation while a server passes through a state: requests, events, revocations
 * and a follower of changes. It says what each of them saw during the state, and how soon after its
 * end all were as before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashSecret } from '#shared/access/secrets.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { pause } from '#shared/waiting.ts';
import { createApiClient } from '#test/api-client.ts';
import { Follower } from '#test/follower.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { killAll, type ServiceProcess, startService } from '#test/service-process.ts';
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

const PATHS = ['/api/order/list?page_size=100', '/api/order/details/?order_id=o1'];
const STORES = ['s0', 's1', 's2'];
const ORDERS = 8;
const EVENT_MS = 50;
const REQUEST_MS = 20;
const LASTS_MS = 3_000;
/** How soon after a state everything is as before. */
const RESUMES_MS = 5_000;

/** Timeouts are those of production. */
async function startTraffic({ settings, ofServices }: Servers) {
  await using begun = new AsyncDisposableStack();
  const installation = await createInstallation({
    partitions: 3,
    settings: {
      MONGODB_READ_TIMEOUT_MS: '',
      REDIS_COMMAND_TIMEOUT_MS: '',
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      LOG_REQUESTS_PERCENT: '0',
      ...settings,
    },
  });
  begun.defer(() => installation.close());
  const services: ServiceProcess[] = [];
  begun.defer(() => killAll(services));
  const start = async (name: 'projector' | 'query', started: string) => {
    const service = startService(name, { ...installation.env, ...ofServices });
    services.push(service);
    return service.logged(({ msg }) => msg === started);
  };
  const [line] = await Promise.all([
    start('query', 'query service started'),
    start('projector', 'projector started'),
  ]);
  const url = String(line['url']);
  const over = new AbortController();
  begun.defer(async () => over.abort());
  const orders = publishOrders(installation, over.signal);
  const keys = createKeys(installation, url);
  const readers = await Promise.all(STORES.map((storeId) => keys.give(storeId)));
  await eventually('every order is shown', async () => {
    const found = await Promise.all(readers.map((token) => listed(url, token)));
    return found.every(({ length }) => length === ORDERS);
  });
  const asking = ask(url, readers, over.signal);
  const follower = new Follower(
    createApiClient(url),
    readers[0] ?? '',
    '/api/order/changes?page_size=100',
  );
  const following = follower.followUntil(over.signal);
  following.catch(() => undefined);
  const running = begun.move();

  /** Whatever happened, of which a failing row tells. */
  const story = () =>
    services
      .flatMap(({ lines }) => lines.slice(-12).map((one) => JSON.stringify(one).slice(0, 400)))
      .join('\n');

  /**
   * Lets a server pass through a state. Fails where a process ends, an event is lost, an answer is
   * wrong, or service resumes late.
   */
  const passThrough = async ({ name, cause, lastsMs = LASTS_MS, also = [] }: State) => {
    const token = await keys.give('s1');
    const slowness = watchSlowness();
    asking.take();
    const before = orders.published();
    const end = await cause();
    const revoked = keys.revoke(token);
    const refused = watchRefusal(url, token);
    await sleep(lastsMs);
    await end();
    const ended = performance.now();
    const since = () => performance.now() - ended;
    try {
      await revoked;
      const answered = asking.answeredAfter(ended).then(since);
      const shown = orders.shown(url, readers).then(since);
      const followed = (async () => {
        const wanted = orders.newest('s0');
        await soon('the follower has it', () => {
          const copied = [...follower.copy.values()];
          return wanted.every(({ id, total }) =>
            copied.some((one) => one['id'] === id && Number(one['total']) >= Number(total)),
          );
        });
        return since();
      })();
      const late = refused.then((at) => at - ended);
      const resumesMs = await Promise.all([answered, shown, followed, late]);
      const { statuses, wrong } = asking.take();
      const slower = slowness();
      const failed = [...statuses]
        .filter(([status]) => status !== 200)
        .map(([status, count]) => `${count} × ${status}`);
      note({
        fault: `${name} (${failed.join(', ') || 'every request 200'})`,
        recoveriesMs: [Math.max(0, ...resumesMs)],
        boundMs: RESUMES_MS * slower,
        events: orders.published() - before,
      });
      expect(wrong).toEqual([]);
      expect(
        [...statuses.keys()].filter((status) => ![200, 503, ...also].includes(status)),
      ).toEqual([]);
      expect(services.map(({ process }) => process.exitCode ?? process.signalCode)).toEqual(
        services.map(() => null),
      );
      expect(await letters(installation)).toEqual([]);
      for (const ms of resumesMs) expect(ms).toBeLessThan(RESUMES_MS * slower);
      await keys.expectRefused();
      await Promise.race([following, Promise.resolve()]);
    } catch (error) {
      throw new Error(`${name}: ${String(error)}\n${story()}`, { cause: error });
    }
  };
  /** Sends concurrent requests of one store. @returns how many were answered 429. */
  const flood = async (times: number) => {
    const answers = await Promise.all(
      Array.from({ length: times }, () => get(url, PATHS[0] ?? '', readers[2] ?? '')),
    );
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    return answers.filter(({ status }) => status === 429).length;
  };
  return { installation, passThrough, flood, close: () => running.disposeAsync() };
}

/** Far longer than it may take, so that a late row still tells how late. */
const soon = (what: string, check: () => boolean | Promise<boolean>) =>
  eventually(what, check, 12 * RESUMES_MS);

type Order = Record<'id' | 'total', string>;

async function get(url: string, path: string, token: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` };
  return fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
}

async function listed(url: string, token: string): Promise<Order[]> {
  const response = await get(url, '/api/order/list?page_size=100', token);
  if (response.status === 200) return ((await response.json()) as { results: Order[] }).results;
  await response.arrayBuffer();
  return [];
}

/** Publishes changes of the same orders again and again; while Kafka is away it tries again. */
function publishOrders(installation: Installation, over: AbortSignal) {
  let sequence = 0;
  const totals = new Map<string, Map<string, string>>(
    STORES.map((storeId) => [storeId, new Map()]),
  );
  void (async () => {
    do {
      const index = sequence;
      sequence += 1;
      const storeId = STORES[index % STORES.length] ?? '';
      const subject = `o${Math.floor(index / STORES.length) % ORDERS}`;
      const total = `${sequence}.00`;
      const data = {
        status: 'pending',
        order_type: 'takeout',
        total,
        created_at: '2026-03-01T12:00:00Z',
      };
      const event = { entity: 'order' as const, storeId, subject, sequence, data };
      while (!over.aborted) {
        const isSent = await installation.publish([event]).then(
          () => true,
          () => false,
        );
        if (isSent) break;
        await pause(100, over);
      }
      totals.get(storeId)?.set(subject, total);
    } while (await pause(EVENT_MS, over));
  })();
  const newest = (storeId: string) =>
    [...(totals.get(storeId) ?? [])].map(([id, total]) => ({ id, total }));
  return {
    newest,
    published: () => sequence,
    /** Resolves when requests show every order as it was published before now, or newer. */
    async shown(url: string, tokens: readonly string[]) {
      const wanted = STORES.map(newest);
      await soon('every event is shown', async () => {
        const found = await Promise.all(tokens.map((token) => listed(url, token).catch(() => [])));
        return wanted.every((ofStore, index) =>
          ofStore.every(({ id, total }) => {
            const shown = found[index]?.find((one) => one.id === id);
            return shown !== undefined && Number(shown.total) >= Number(total);
          }),
        );
      });
    },
  };
}

/** Sends requests all the time, and keeps what was answered. */
function ask(url: string, tokens: readonly string[], over: AbortSignal) {
  let statuses = new Map<number, number>();
  let wrong: string[] = [];
  let answeredAt = 0;
  const one = async (index: number) => {
    const path = PATHS[index % PATHS.length] ?? '';
    const sentAt = performance.now();
    const response = await get(url, path, tokens[index % tokens.length] ?? '').catch(
      (error: unknown) => error,
    );
    if (!(response instanceof Response)) {
      if (!over.aborted) wrong.push(`${path}: no answer: ${String(response)}`);
      return;
    }
    const body = (await response.json()) as { count?: number; id?: string };
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    if (response.status !== 200) return;
    answeredAt = Math.max(answeredAt, sentAt);
    // Every order was there before the first state.
    if (body.count !== ORDERS && body.id !== 'o1')
      wrong.push(`${path}: ${JSON.stringify(body).slice(0, 200)}`);
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
    answeredAfter: (time: number) => soon('a request is answered', () => answeredAt > time),
  };
}

const SECRET = 'secret';

function createKeys(installation: Installation, url: string) {
  let count = 0;
  const given = new Map<string, { clientId: string; storeId: string }>();
  const revokedTokens: string[] = [];
  const publish = (clientId: string, storeId: string, status: 'active' | 'revoked') =>
    installation.publishAccess([
      {
        entity: 'access_key',
        storeId,
        subject: clientId,
        sequence: status === 'active' ? 1 : 2,
        data: { secret_sha256: hashSecret(SECRET), scopes: ['order'], status },
      },
    ]);
  const api = createApiClient(url);
  return {
    async give(storeId: string): Promise<string> {
      count += 1;
      const clientId = `k${count}`;
      await publish(clientId, storeId, 'active');
      let token = '';
      await eventually('the key counts', async () => {
        const { status, json } = await api.askToken(clientId, SECRET);
        if (status === 200) token = (json as { access_token: string }).access_token;
        return status === 200;
      });
      given.set(token, { clientId, storeId });
      return token;
    },
    /** Revokes the key of a token; while Kafka is away it tries again. */
    async revoke(token: string): Promise<void> {
      const { clientId = '', storeId = '' } = given.get(token) ?? {};
      await eventually('the revocation is published', () =>
        publish(clientId, storeId, 'revoked').then(
          () => true,
          () => false,
        ),
      );
      revokedTokens.push(token);
    },
    async expectRefused() {
      for (const token of revokedTokens) {
        const { status } = await api.get('/api/order/list', token);
        expect([401, 503]).toContain(status);
      }
    },
  };
}

/** Resolves with the time of the first 401 of a token. */
async function watchRefusal(url: string, token: string): Promise<number> {
  for (const end = performance.now() + 12 * RESUMES_MS + 30_000; ; await sleep(50)) {
    const sentAt = performance.now();
    const response = await get(url, '/api/order/list', token).catch(() => null);
    await response?.arrayBuffer();
    if (response?.status === 401) return sentAt;
    if (sentAt > end) throw new Error('the revocation does not take effect');
  }
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
