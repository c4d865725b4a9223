import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { aCoupon, aCustomer, aGroup, anOrder, aStore } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { type Answer, remainingOf } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import type { Changes } from '#test/follower.ts';
import { startApp, type RunningApp } from '#test/query-service.ts';
import { listening, startService } from '#test/service-process.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';

const service = useQueryService({ oneRedis: true });

let stores = 0;
/** Creates a store, a token for it, and what changes its key. */
async function newStore() {
  stores += 1;
  const storeId = `w${stores}`;
  const token = await service.tokenOf({ clientId: storeId, storeId });
  const setKey = (change: object) => service.setKey({ clientId: storeId, storeId, ...change });
  return { storeId, token, setKey };
}

const order = (storeId: string, id: string, status = 'pending') => anOrder(id, { status }, storeId);
const changesIn = ({ status, text, json }: Answer): Changes => {
  expect(status, text).toBe(200);
  return json as Changes;
};
const idsIn = (answer: Answer) => changesIn(answer).results.map(({ id }) => id);
const end = async (token: string) =>
  changesIn(await service.api.get('/api/order/changes?page_size=100', token)).next;
const waitingNow = async () =>
  (await service.app.services.metrics.waiting.get()).values[0]?.value ?? 0;

/** Sends a request with `wait`; resolves once the service holds it. */
async function begin(
  token: string,
  query: string,
  api = service.api,
  path = '/api/order/changes',
): Promise<{ answer: Promise<Answer> }> {
  const before = await waitingNow();
  const answer = api.get(`${path}?${query}`, token);
  answer.catch(() => undefined);
  if (api === service.api) await eventually('it waits', async () => (await waitingNow()) > before);
  return { answer };
}

/** Less than a wait of 30 s, for a busy machine. */
const EARLY_MS = 29_000;

async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const began = performance.now();
  return { result: await work, ms: performance.now() - began };
}

describe('a request that waits', () => {
  it('is answered as soon as a record changes, also in an empty store, and immediately if one has', async () => {
    const { storeId, token } = await newStore();
    const first = await begin(token, 'wait=30');
    await service.apply([order(storeId, 'o1')]);
    const { result, ms } = await timed(first.answer);
    expect(idsIn(result)).toEqual(['o1']);
    expect(ms).toBeLessThan(EARLY_MS);
    const { ms: atOnce } = await timed(service.api.get('/api/order/changes?wait=30', token));
    expect(atOnce).toBeLessThan(EARLY_MS);
    const second = await begin(token, `wait=30&after=${changesIn(result).next}`);
    await service.apply([order(storeId, 'o1', 'ready'), { entity: 'order', storeId, id: 'o2' }]);
    expect(changesIn(await second.answer).results).toMatchObject([
      { id: 'o1', deleted: false },
      { id: 'o2', deleted: true },
    ]);
  });

  it('is not answered for other records, stores or kinds, and is answered without results at its timeout', async () => {
    const { storeId, token } = await newStore();
    const other = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const next = await end(token);
    const began = performance.now();
    const { answer } = await begin(token, `wait=2&after=${next}`);
    await service.apply([order(other.storeId, 'o1'), aCustomer('c1', {}, storeId)]);
    const page = changesIn(await answer);
    expect(performance.now() - began).toBeGreaterThan(1_900);
    expect(page).toMatchObject({ results: [], more: false });
    await service.apply([order(storeId, 'o2')]);
    const after = await service.api.get(`/api/order/changes?after=${page.next}`, token);
    expect(idsIn(after)).toEqual(['o2']);
  });

  it('is answered only for a change of any of its kinds', async () => {
    const { storeId, token } = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const ask = (query: string) => begin(token, query, service.api, '/api/changes');
    const { next } = changesIn(await service.api.get('/api/changes', token));
    const some = 'kinds=order&kinds=customer';
    const { next: nextOfSome } = changesIn(await service.api.get(`/api/changes?${some}`, token));
    const all = await ask(`wait=30&after=${next}`);
    const named = await ask(`wait=30&records=summary&${some}&after=${nextOfSome}`);
    const other = await ask('wait=2&kinds=product&kinds=review');
    const now = await ask('wait=30&after=now&records=whole');
    const nowOfSome = await ask(`wait=30&after=now&${some}`);
    await service.apply([aCoupon('k1', {}, storeId)]);
    for (const { answer } of [all, now]) {
      expect(changesIn(await answer).results).toMatchObject([{ kind: 'coupon', id: 'k1' }]);
    }
    await service.apply([aCustomer('c1', {}, storeId)]);
    for (const { answer } of [named, nowOfSome]) {
      expect(changesIn(await answer).results).toMatchObject([{ kind: 'customer', id: 'c1' }]);
    }
    expect(changesIn(await other.answer)).toMatchObject({ results: [], more: false });
  });

  it('uses the store’s new offset after a move', async () => {
    const { storeId, token } = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const { answer } = await begin(token, `wait=2&after=${await end(token)}`);
    await service.apply([aStore(storeId, { timezone_offset: '+01:00' })]);
    expect(changesIn(await answer)).toMatchObject({ results: [], timezone_offset: '+01:00' });
  });

  it('is not held with HEAD', async () => {
    const { token } = await newStore();
    const headers = { authorization: `Bearer ${token}` };
    const { result, ms } = await timed(
      service.api.call('/api/order/changes?wait=30', { method: 'HEAD', headers }),
    );
    expect(result.status).toBe(200);
    expect(ms).toBeLessThan(EARLY_MS);
  });

  it('counts once against the quota', async () => {
    const { storeId, token } = await newStore();
    const before = remainingOf(await service.api.get('/api/order/changes', token));
    const { answer } = await begin(token, 'wait=30');
    await service.apply([order(storeId, 'o1')]);
    expect(remainingOf(await answer)).toBe(before - 1);
    expect(remainingOf(await service.api.get('/api/order/changes', token))).toBe(before - 2);
  });

  it('is refused at its end, and counted, if the key was revoked or lost a required scope', async () => {
    const [lost, narrowed, revoked] = [await newStore(), await newStore(), await newStore()];
    const held = [
      await begin(lost.token, 'wait=30'),
      await begin(revoked.token, 'wait=30'),
      await begin(narrowed.token, 'wait=30&kinds=order&kinds=product', service.api, '/api/changes'),
      await begin(narrowed.token, 'wait=30&kinds=order', service.api, '/api/changes'),
    ];
    await lost.setKey({ scopes: ['crm'] });
    await narrowed.setKey({ scopes: ['order'] });
    await revoked.setKey({ status: 'revoked' });
    await service.apply([lost, narrowed, revoked].map(({ storeId }) => order(storeId, 'o1')));
    const answers = await Promise.all(held.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 403, 200]);
    const [forbidden, , ofSeveral] = answers as [Answer, Answer, Answer];
    expect(ofSeveral.headers.get('www-authenticate')).toContain('scope="order menu"');
    for (const { text } of answers.slice(0, 3)) expect(text).not.toContain('o1');
    const list = await service.api.get('/api/customer/list', lost.token);
    expect(remainingOf(list)).toBe(remainingOf(forbidden) - 1);
  });

  it('is refused at its end even if no generation could be read meanwhile', async () => {
    const three = [await newStore(), await newStore(), await newStore()] as const;
    const [lost, revoked, kept] = three;
    await service.apply(three.map(({ storeId }) => order(storeId, 'o1')));
    const { environment, databases } = service.installation;
    const markers = databases.generation(environment, 1).collection('generation');
    const pointers = databases.control.collection<{ _id: string }>('generations');
    const moveVersion = async (by: number) => {
      await markers.updateOne({}, { $inc: { projection_version: by } });
      await pointers.updateOne({ _id: environment }, { $inc: { revision: 1 } });
    };
    const ask = ({ token }: { token: string }) => service.api.get('/api/order/changes', token);
    const { metrics } = service.app.services;
    const held: Promise<Answer>[] = [];
    await moveVersion(1);
    try {
      await eventually('there is no generation', async () => (await ask(kept)).status === 503);
      for (const store of three) {
        const before = remainingOf(await ask(store));
        held.push(service.api.get('/api/order/changes?wait=30', store.token));
        await eventually('it is counted, and waits', async () => {
          const inFlight = (await metrics.inFlight.get()).values[0]?.value;
          return remainingOf(await ask(store)) < before - 1 && inFlight === 0;
        });
      }
      await lost.setKey({ scopes: ['crm'] });
      await revoked.setKey({ status: 'revoked' });
    } finally {
      await moveVersion(-1);
    }
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 200]);
    for (const { text, headers } of answers.slice(0, 2)) {
      expect(text).not.toContain('o1');
      // They were counted when they began (rule R10.7).
      expect(headers.has('ratelimit')).toBe(true);
    }
  });

  it('is held longer than the socket timeout', async () => {
    const { storeId, token } = await newStore();
    await using impatient = await startApp(service.installation.config);
    impatient.app.server.setTimeout(500);
    const { answer } = await begin(token, 'wait=30', impatient.api);
    await sleep(1_500);
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await answer)).toEqual(['o1']);
    expect(await impatient.api.get('/api/order/changes', token)).toMatchObject({ status: 200 });
  });

  it('leaves an answer before it on its connection the time limit for reading', async () => {
    const { storeId, token } = await newStore();
    const option = (index: number) => ({ id: `${index}`, name: 'x'.repeat(200), price: '1.00' });
    const options = times(200, (index) => option(index));
    await service.apply(times(100, (index) => aGroup(`g${index}`, { options }, storeId)));
    await using impatient = await startApp(service.installation.config);
    impatient.app.server.setTimeout(500);
    const ask = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const { hostname, port } = new URL(impatient.url);
    // It reads nothing: the answers are larger than the buffers of the system.
    const socket = connect({ host: hostname, port: Number(port) }).pause();
    socket.write(ask('/api/option-group/changes?records=whole&page_size=1000').repeat(4));
    socket.write(ask('/api/order/changes?wait=30'));
    const open = promisify(impatient.app.server.getConnections.bind(impatient.app.server));
    await eventually('it is connected', async () => (await open()) === 1);
    await eventually('it is cut before the wait ends', async () => (await open()) === 0, EARLY_MS);
    socket.destroy();
  });

  it('gets changes that no slice wrote within about a second', async () => {
    const { storeId, token } = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const { answer } = await begin(token, `wait=30&after=${await end(token)}`);
    const db = service.installation.databases.generation(service.installation.environment, 1);
    const stamp = { position: 2, 'positions.order': 2 };
    await db.collection<{ _id: string }>('stamps').updateOne({ _id: storeId }, { $set: stamp });
    await db
      .collection<{ _id: string }>('orders')
      .updateOne({ _id: `${storeId}/o1` }, { $set: { feed_position: 2 } });
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});

it('hundreds of different waits of one store, woken by one change, refuse no request of another store, and all are answered when the service stops', async () => {
  const { storeId, token } = await newStore();
  const neighbour = await newStore();
  await service.apply([order(storeId, 'o1'), order(neighbour.storeId, 'o1')]);
  const next = await end(token);
  // With the latency of production.
  const running = startService('query', { ...service.installation.env, OVERLOAD_LATENCY_MS: '' });
  try {
    const { url, operations } = await listening(running);
    const ask = async (path: string, bearer: string) => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
      await response.text();
      return response.status;
    };
    const waiting = async () => {
      const metrics = await (await fetch(`${operations}/metrics`)).text();
      return Number(/^store_data_waiting_requests (\d+)/m.exec(metrics)?.[1]);
    };
    await eventually('it answers', async () => (await ask('/api/order/list', token)) === 200);
    const hold = async (count: number, after: string) => {
      const held: Promise<number>[] = [];
      while (held.length < count) {
        const size = held.length + 1;
        held.push(ask(`/api/order/changes?wait=30&page_size=${size}&after=${after}`, token));
        if (size % 25 === 0) await eventually('they wait', async () => (await waiting()) === size);
      }
      return held;
    };
    const held = await hold(400, next);
    const over = new AbortController();
    const neighbours = times(16, async () => {
      const statuses: number[] = [];
      while (!over.signal.aborted) statuses.push(await ask('/api/order/list', neighbour.token));
      return statuses;
    });
    await service.apply([order(storeId, 'o2')]);
    expect(new Set(await Promise.all(held))).toEqual(new Set([200]));
    over.abort();
    const statuses = (await Promise.all(neighbours)).flat();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    const last = await hold(100, await end(token));
    running.kill('SIGTERM');
    const { result, ms } = await timed(Promise.all(last));
    expect(new Set(result)).toEqual(new Set([200]));
    // Long before their waits would end.
    expect(ms).toBeLessThan(20_000);
  } finally {
    running.kill('SIGTERM');
    await running.ended;
  }
});

describe('a service', () => {
  const answers = ({ api }: RunningApp, token: string) =>
    eventually(
      'it answers',
      async () => (await api.get('/api/order/changes', token)).status === 200,
    );
  it('answers 503 at the end of a wait while Redis is unreachable', async () => {
    const { storeId, token } = await newStore();
    const { config } = service.installation;
    await using proxy = await startRedisProxy(config.redis.url);
    await using behind = await startApp({ ...config, redis: { ...config.redis, url: proxy.url } });
    await answers(behind, token);
    const { answer } = await begin(token, 'wait=30', behind.api);
    const { waiting, inFlight } = behind.app.services.metrics;
    // No longer in flight: it has read, and found no change.
    await eventually('it waits', async () => {
      const [waits, reads] = await Promise.all([waiting.get(), inFlight.get()]);
      return waits.values[0]?.value === 1 && reads.values[0]?.value === 0;
    });
    await proxy.cut();
    await service.apply([order(storeId, 'o1')]);
    const { status, text } = await answer;
    expect(status).toBe(503);
    expect(text).not.toContain('o1');
  });

  it('holds requests while MongoDB is unreachable, and answers 503 at the end', async () => {
    const { storeId, token } = await newStore();
    const { config, mongodb: client } = service.installation;
    await using proxy = await startMongodbProxy(client);
    await using behind = await startApp({
      ...config,
      mongodb: { ...config.mongodb, uri: proxy.uri, readTimeoutMs: 1_000 },
    });
    await answers(behind, token);
    await proxy.cut();
    const began = performance.now();
    const { answer } = await begin(token, 'wait=4', behind.api);
    expect((await answer).status).toBe(503);
    expect(performance.now() - began).toBeGreaterThan(3_500);

    const held = await begin(token, 'wait=30', behind.api);
    await sleep(1_000);
    await proxy.restore();
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await held.answer)).toEqual(['o1']);
  });
});
