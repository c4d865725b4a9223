import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { aCoupon, aCustomer, aGroup, anOrder, aStore, gone } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { type Answer, remainingOf } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import type { Changes } from '#test/follower.ts';
import { startApp, startAppWith, type RunningApp } from '#test/query-service.ts';
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

const ORDERS = '/api/order/changes';
const order = (storeId: string, id: string) => anOrder(id, {}, storeId);
const changesIn = ({ status, text, json }: Answer) => {
  expect(status, text).toBe(200);
  return json as Changes;
};
const idsIn = (answer: Answer) => changesIn(answer).results.map(({ id }) => id);
const end = async (token: string, path = ORDERS) =>
  changesIn(await service.api.get(path, token)).next;

/** Sends a request with `wait`; resolves once the service holds it. */
async function begin(token: string, path: string, { api, app }: RunningApp = service) {
  const { waiting } = app.services.metrics;
  const now = async () => (await waiting.get()).values[0]?.value ?? 0;
  const before = await now();
  const answer = api.get(path, token);
  answer.catch(() => undefined);
  await eventually('it waits', async () => (await now()) > before);
  return { answer };
}

/** Less than a wait of 30 s, for a busy machine. */
const EARLY_MS = 29_000;

async function early<T>(work: Promise<T>) {
  const began = performance.now();
  const result = await work;
  expect(performance.now() - began).toBeLessThan(EARLY_MS);
  return result;
}

describe('a request that waits', () => {
  it('is answered as soon as a record changes, also in an empty store, and immediately if one has', async () => {
    const { storeId, token } = await newStore();
    const first = await begin(token, `${ORDERS}?wait=30`);
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await early(first.answer))).toEqual(['o1']);
    const { next } = changesIn(await early(service.api.get(`${ORDERS}?wait=30`, token)));
    const { answer } = await begin(token, `${ORDERS}?wait=30&after=${next}`);
    await service.apply([order(storeId, 'o1'), gone(order(storeId, 'o2'))]);
    expect(changesIn(await answer).results).toMatchObject([
      { id: 'o1', deleted: false },
      { id: 'o2', deleted: true },
    ]);
  });

  it('is not answered for other records, stores or kinds, and is answered without results at its timeout', async () => {
    const { storeId, token } = await newStore();
    const other = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const after = await end(token);
    const began = performance.now();
    const { answer } = await begin(token, `${ORDERS}?wait=2&after=${after}`);
    await service.apply([order(other.storeId, 'o1'), aCustomer('c1', {}, storeId)]);
    const { results, next } = changesIn(await answer);
    expect(performance.now() - began).toBeGreaterThan(1_900);
    expect(results).toEqual([]);
    await service.apply([order(storeId, 'o2')]);
    expect(idsIn(await service.api.get(`${ORDERS}?after=${next}`, token))).toEqual(['o2']);
  });

  it('is answered only for a change of any of its kinds', async () => {
    const { storeId, token } = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const all = '/api/changes?';
    const some = '/api/changes?kinds=order&kinds=customer&';
    const hold = async (path: string) => [
      await begin(token, `${path}wait=30&after=${await end(token, path)}`),
      await begin(token, `${path}wait=30&after=now`),
    ];
    const [ofAll, ofSome] = [await hold(all), await hold(some)];
    const other = await begin(token, '/api/changes?wait=2&kinds=product&kinds=review');
    await service.apply([aCoupon('k1', {}, storeId)]);
    for (const { answer } of ofAll) expect(idsIn(await answer)).toEqual(['k1']);
    await service.apply([aCustomer('c1', {}, storeId)]);
    for (const { answer } of ofSome) expect(idsIn(await answer)).toEqual(['c1']);
    expect(idsIn(await other.answer)).toEqual([]);
  });

  it('uses the store’s new offset after a move', async () => {
    const { storeId, token } = await newStore();
    await service.apply([order(storeId, 'o1')]);
    const { answer } = await begin(token, `${ORDERS}?wait=2&after=${await end(token)}`);
    await service.apply([aStore(storeId, { timezone_offset: '+01:00' })]);
    expect(changesIn(await answer)).toMatchObject({ results: [], timezone_offset: '+01:00' });
  });

  it('is not held with HEAD', async () => {
    const { token } = await newStore();
    const headers = { authorization: `Bearer ${token}` };
    const held = service.api.call(`${ORDERS}?wait=30`, { method: 'HEAD', headers });
    expect((await early(held)).status).toBe(200);
  });

  it('counts once against the quota', async () => {
    const { storeId, token } = await newStore();
    const remaining = async () => remainingOf(await service.api.get(ORDERS, token));
    const before = await remaining();
    const { answer } = await begin(token, `${ORDERS}?wait=30`);
    await service.apply([order(storeId, 'o1')]);
    expect(remainingOf(await answer)).toBe(before - 1);
    expect(await remaining()).toBe(before - 2);
  });

  it('is refused at its end, and counted, if the key was revoked or lost a required scope', async () => {
    const [lost, narrowed, revoked] = [await newStore(), await newStore(), await newStore()];
    const held = [
      await begin(lost.token, `${ORDERS}?wait=30`),
      await begin(revoked.token, `${ORDERS}?wait=30`),
      await begin(narrowed.token, '/api/changes?wait=30&kinds=order&kinds=product'),
      await begin(narrowed.token, '/api/changes?wait=30&kinds=order'),
    ];
    await lost.setKey({ scopes: ['crm'] });
    await narrowed.setKey({ scopes: ['order'] });
    await revoked.setKey({ status: 'revoked' });
    await service.apply([lost, narrowed, revoked].map(({ storeId }) => order(storeId, 'o1')));
    const answers = await Promise.all(held.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 403, 200]);
    const [forbidden, , ofSeveral] = answers as [Answer, Answer, Answer];
    expect(ofSeveral.headers.get('www-authenticate')).toContain('scope="order menu"');
    const list = await service.api.get('/api/customer/list', lost.token);
    expect(remainingOf(list)).toBe(remainingOf(forbidden) - 1);
  });

  it('is refused at its end even if no generation could be read meanwhile', async () => {
    const [revoked, kept] = [await newStore(), await newStore()];
    await service.apply([order(kept.storeId, 'o1')]);
    const { environment, databases } = service.installation;
    const markers = databases.generation(environment, 1).collection('generation');
    const moveVersion = async (by: number) => {
      await markers.updateOne({}, { $inc: { projection_version: by } });
      await databases.control.collection('generations').updateOne({}, { $inc: { revision: 1 } });
    };
    const ask = ({ token }: { token: string }) => service.api.get(ORDERS, token);
    const { inFlight } = service.app.services.metrics;
    const held: Promise<Answer>[] = [];
    await moveVersion(1);
    try {
      await eventually('there is no generation', async () => (await ask(kept)).status === 503);
      for (const store of [revoked, kept]) {
        const before = remainingOf(await ask(store));
        held.push(service.api.get(`${ORDERS}?wait=30`, store.token));
        await eventually('it is counted, and waits', async () => {
          const isCounted = remainingOf(await ask(store)) < before - 1;
          return isCounted && (await inFlight.get()).values[0]?.value === 0;
        });
      }
      await revoked.setKey({ status: 'revoked' });
    } finally {
      await moveVersion(-1);
    }
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).toEqual([401, 200]);
    // It was counted when it began (rule R10.7).
    expect(answers[0]?.headers.has('ratelimit')).toBe(true);
  });

  it('is held longer than the socket timeout', async () => {
    const { storeId, token } = await newStore();
    await using impatient = await startApp(service.installation.config);
    impatient.app.server.setTimeout(500);
    const { answer } = await begin(token, `${ORDERS}?wait=30`, impatient);
    await sleep(1_500);
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await answer)).toEqual(['o1']);
  });

  it('leaves an answer before it on its connection the time limit for reading', async () => {
    const { storeId, token } = await newStore();
    const option = { name: 'x'.repeat(200), price: '1.00' };
    const options = times(200, (index) => ({ ...option, id: `${index}` }));
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
    const { answer } = await begin(token, `${ORDERS}?wait=30&after=${await end(token)}`);
    const db = service.installation.databases.generation(service.installation.environment, 1);
    const stamp = { position: 2, 'positions.order': 2 };
    await db.collection<{ _id: string }>('stamps').updateOne({ _id: storeId }, { $set: stamp });
    await db
      .collection<{ _id: string }>('orders')
      .updateOne({ _id: `${storeId}/o1` }, { $set: { feed_position: 2 } });
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});

describe('a service', () => {
  const answers = ({ api }: RunningApp, token: string) =>
    eventually('it answers', async () => (await api.get(ORDERS, token)).status === 200);
  it('that stops answers first, with Connection: close', async () => {
    const { token } = await newStore();
    const stopping = await startApp(service.installation.config);
    const { answer } = await begin(token, `${ORDERS}?wait=30`, stopping);
    await stopping.close();
    const { status, headers } = await early(answer);
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
  });

  it('answers 503 at the end of a wait while Redis is unreachable', async () => {
    const { storeId, token } = await newStore();
    const { installation } = service;
    await using proxy = await startRedisProxy(installation.config.redis.url);
    await using behind = await startAppWith(installation, { REDIS_URL: proxy.url });
    await answers(behind, token);
    const { answer } = await begin(token, `${ORDERS}?wait=30`, behind);
    const { inFlight } = behind.app.services.metrics;
    await eventually('it has read', async () => (await inFlight.get()).values[0]?.value === 0);
    await proxy.cut();
    await service.apply([order(storeId, 'o1')]);
    expect((await answer).status).toBe(503);
  });

  it('holds requests while MongoDB is unreachable, and answers 503 at the end', async () => {
    const { storeId, token } = await newStore();
    const { installation } = service;
    await using proxy = await startMongodbProxy(installation.mongodb);
    const settings = { MONGODB_URI: proxy.uri, MONGODB_READ_TIMEOUT_MS: '1000' };
    await using behind = await startAppWith(installation, settings);
    await answers(behind, token);
    await proxy.cut();
    const began = performance.now();
    expect((await behind.api.get(`${ORDERS}?wait=4`, token)).status).toBe(503);
    expect(performance.now() - began).toBeGreaterThan(3_500);

    const { answer } = await begin(token, `${ORDERS}?wait=30`, behind);
    await sleep(1_000);
    await proxy.restore();
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});
