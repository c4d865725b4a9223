import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCoupon, aCustomer, aGroup, anOrder, aStore, gone } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { type Answer, remainingOf } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import type { Changes } from '#test/follower.ts';
import { startApp, startAppWith, sumOf, type RunningApp } from '#test/query-service.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';

const service = useQueryService({ oneRedis: true });

let stores = 0;
/** The id of a store without records. */
function newStore(): string {
  stores += 1;
  return `w${stores}`;
}

const ORDERS = '/api/order/changes';
const order = (storeId: string, id: string) => anOrder(id, {}, storeId);
const changesIn = ({ status, text, json }: Answer) => {
  expect(status, text).toBe(200);
  return json as Changes;
};
const idsIn = (answer: Answer) => changesIn(answer).results.map(({ id }) => id);
/** Changes the key of its token. */
const setKey = (storeId: string, change: object) =>
  service.setKey({ clientId: `key-${storeId}`, storeId, ...change });
const end = async (storeId: string, path = ORDERS) =>
  changesIn(await service.get(path, storeId)).next;

const held = (one: RunningApp) => sumOf([one], 'store_data_waiting_requests');
const inFlight = (one: RunningApp) => sumOf([one], 'store_data_requests_in_flight');

/** Sends a request with `wait`; resolves once the service holds it. */
async function begin(storeId: string, path: string, running: RunningApp = service) {
  const token = await service.tokenFor(storeId);
  const before = await held(running);
  const answer = running.api.get(path, token);
  answer.catch(() => undefined);
  await eventually('it waits', async () => (await held(running)) > before);
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
    const storeId = newStore();
    const first = await begin(storeId, `${ORDERS}?wait=30`);
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await early(first.answer))).toEqual(['o1']);
    const { next } = changesIn(await early(service.get(`${ORDERS}?wait=30`, storeId)));
    const { answer } = await begin(storeId, `${ORDERS}?wait=30&after=${next}`);
    await service.apply([order(storeId, 'o1'), gone(order(storeId, 'o2'))]);
    expect(changesIn(await answer).results).toMatchObject([
      { id: 'o1', deleted: false },
      { id: 'o2', deleted: true },
    ]);
  });

  it('is answered at its timeout, without results but with the present offset, if only other stores or kinds change', async () => {
    const storeId = newStore();
    const other = newStore();
    await service.apply([order(storeId, 'o1')]);
    const after = await end(storeId);
    const began = performance.now();
    const { answer } = await begin(storeId, `${ORDERS}?wait=2&after=${after}`);
    await service.apply([order(other, 'o1'), aStore(storeId, { timezone_offset: '+01:00' })]);
    const { next, ...shown } = changesIn(await answer);
    expect(performance.now() - began).toBeGreaterThan(1_900);
    expect(shown).toMatchObject({ results: [], timezone_offset: '+01:00' });
    await service.apply([order(storeId, 'o2')]);
    expect(idsIn(await service.get(`${ORDERS}?after=${next}`, storeId))).toEqual(['o2']);
  });

  it('is answered only for a change of any of its kinds', async () => {
    const storeId = newStore();
    await service.apply([order(storeId, 'o1')]);
    const all = '/api/changes?wait=30&after=now';
    const some = '/api/changes?kinds=order&kinds=customer&';
    const ofAll = await begin(storeId, all);
    const ofSome = await begin(storeId, `${some}wait=30&after=${await end(storeId, some)}`);
    await service.apply([aCoupon('k1', {}, storeId)]);
    expect(idsIn(await ofAll.answer)).toEqual(['k1']);
    await service.apply([aCustomer('c1', {}, storeId)]);
    expect(idsIn(await ofSome.answer)).toEqual(['c1']);
  });

  it('ends when its client leaves', async () => {
    const storeId = newStore();
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${await service.tokenFor(storeId)}` };
    const before = await held(service);
    const answer = fetch(`${service.url}${ORDERS}?wait=30`, { headers, signal: leaving.signal });
    await eventually('it waits', async () => (await held(service)) > before);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await eventually('it has ended', async () => (await held(service)) === before, EARLY_MS / 2);
  });

  it('is not held with HEAD', async () => {
    const storeId = newStore();
    const headers = { authorization: `Bearer ${await service.tokenFor(storeId)}` };
    const answer = service.api.call(`${ORDERS}?wait=30`, { method: 'HEAD', headers });
    expect((await early(answer)).status).toBe(200);
  });

  it('counts once against the quota', async () => {
    const storeId = newStore();
    const remaining = async () => remainingOf(await service.get(ORDERS, storeId));
    const before = await remaining();
    const { answer } = await begin(storeId, `${ORDERS}?wait=30`);
    await service.apply([order(storeId, 'o1')]);
    expect(remainingOf(await answer)).toBe(before - 1);
    expect(await remaining()).toBe(before - 2);
  });

  it('is refused at its end, and counted, if the key was revoked or lost a required scope', async () => {
    const [lost, narrowed, revoked] = [newStore(), newStore(), newStore()];
    const waiting = [
      await begin(lost, `${ORDERS}?wait=30`),
      await begin(revoked, `${ORDERS}?wait=30`),
      await begin(narrowed, '/api/changes?wait=30&kinds=order&kinds=product'),
      await begin(narrowed, '/api/changes?wait=30&kinds=order'),
    ];
    await setKey(lost, { scopes: ['crm'] });
    await setKey(narrowed, { scopes: ['order'] });
    await setKey(revoked, { status: 'revoked' });
    await service.apply([lost, narrowed, revoked].map((storeId) => order(storeId, 'o1')));
    const answers = await Promise.all(waiting.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 403, 200]);
    const [forbidden, , ofSeveral] = answers as [Answer, Answer, Answer];
    expect(ofSeveral.headers.get('www-authenticate')).toContain('scope="order menu"');
    const list = await service.get('/api/customer/list', lost);
    expect(remainingOf(list)).toBe(remainingOf(forbidden) - 1);
  });

  it('is held while no generation can be read, and refused at its end', async () => {
    const storeId = newStore();
    const { environment, databases } = service.installation;
    const markers = databases.generation(environment, 1).collection('generation');
    const moveVersion = async (by: number) => {
      await markers.updateOne({}, { $inc: { projection_version: by } });
      await databases.control.collection('generations').updateOne({}, { $inc: { revision: 1 } });
    };
    const ask = (query = '') => service.get(ORDERS + query, storeId);
    let answer: Promise<Answer>;
    await moveVersion(1);
    try {
      await eventually('there is no generation', async () => (await ask()).status === 503);
      const before = remainingOf(await ask());
      answer = ask('?wait=30');
      await eventually('it is counted, and waits', async () => {
        const isCounted = remainingOf(await ask()) < before - 1;
        return isCounted && (await inFlight(service)) === 0;
      });
      await setKey(storeId, { status: 'revoked' });
    } finally {
      await moveVersion(-1);
    }
    await service.apply([order(storeId, 'o1')]);
    const { status, headers } = await early(answer);
    // It was counted when it began (rule R10.7).
    expect([status, headers.has('ratelimit')]).toEqual([401, true]);
  });

  it('gets changes that no slice wrote within about a second', async () => {
    const storeId = newStore();
    await service.apply([order(storeId, 'o1')]);
    const { answer } = await begin(storeId, `${ORDERS}?wait=30&after=${await end(storeId)}`);
    const db = service.installation.databases.generation(service.installation.environment, 1);
    const stamp = { position: 2, 'positions.order': 2 };
    await db.collection<{ _id: string }>('stamps').updateOne({ _id: storeId }, { $set: stamp });
    await db
      .collection<{ _id: string }>('orders')
      .updateOne({ _id: `${storeId}/o1` }, { $set: { feed_position: 2 } });
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});

describe('a service whose sockets time out', () => {
  const impatient = useMade(() => startApp(service.installation.config));
  beforeAll(() => void impatient.app.server.setTimeout(500));

  // First: no other connection is open.
  it('leaves an answer before a held one on its connection the time limit for reading', async () => {
    const storeId = newStore();
    const option = { name: 'x'.repeat(200), price: '1.00' };
    const options = times(200, (index) => ({ ...option, id: `${index}` }));
    await service.apply(times(100, (index) => aGroup(`g${index}`, { options }, storeId)));
    const token = await service.tokenFor(storeId);
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

  it('holds a request longer', async () => {
    const storeId = newStore();
    const { answer } = await begin(storeId, `${ORDERS}?wait=30`, impatient);
    await sleep(1_500);
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});

it('a service that stops answers first, with Connection: close', async () => {
  const storeId = newStore();
  const stopping = await startApp(service.installation.config);
  const { answer } = await begin(storeId, `${ORDERS}?wait=30`, stopping);
  await stopping.close();
  const { status, headers } = await early(answer);
  expect([status, headers.get('connection')]).toEqual([200, 'close']);
});

describe('while a server is unreachable', () => {
  const redis = useMade(() => startRedisProxy(service.installation.config.redis.url));
  const mongodb = useMade(() => startMongodbProxy(service.installation.mongodb));
  const behind = useMade(() =>
    startAppWith(service.installation, {
      REDIS_URL: redis.url,
      MONGODB_URI: mongodb.uri,
      MONGODB_READ_TIMEOUT_MS: '1000',
    }),
  );
  async function newServedStore() {
    const storeId = newStore();
    const token = await service.tokenFor(storeId);
    const isServed = async () => (await behind.api.get(ORDERS, token)).status === 200;
    await eventually('it answers', isServed);
    return { storeId, token };
  }

  it('Redis: a wait ends with 503', async () => {
    const { storeId } = await newServedStore();
    const { answer } = await begin(storeId, `${ORDERS}?wait=30`, behind);
    await eventually('it has read', async () => (await inFlight(behind)) === 0);
    await redis.cut();
    await service.apply([order(storeId, 'o1')]);
    expect((await answer).status).toBe(503);
    await redis.restore();
  });

  it('MongoDB: a wait continues, and ends with 503', async () => {
    const { storeId, token } = await newServedStore();
    await mongodb.cut();
    const began = performance.now();
    expect((await behind.api.get(`${ORDERS}?wait=4`, token)).status).toBe(503);
    expect(performance.now() - began).toBeGreaterThan(3_500);

    const { answer } = await begin(storeId, `${ORDERS}?wait=30`, behind);
    await sleep(1_000);
    await mongodb.restore();
    await service.apply([order(storeId, 'o1')]);
    expect(idsIn(await answer)).toEqual(['o1']);
  });
});
