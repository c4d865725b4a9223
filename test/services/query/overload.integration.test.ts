/**
 * Excess requests, and requests while MongoDB is known to be unreachable, are refused immediately,
 * before any work.
 */
import { afterEach, expect, it } from 'vitest';
import { MAX_IN_FLIGHT } from '#query/overload/admission.ts';
import { remainingOf, TOKEN_PATH } from '#test/api-client.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { eventually } from '#test/eventually.ts';
import { quickOnce } from '#test/patience.ts';
import { type RunningApp, startAppWith, sumOf } from '#test/query-service.ts';
import { startMongodbProxy } from '#test/server-proxies.ts';

const DATA = '/api/order/list';
const inFlight = (one: RunningApp) => sumOf([one], 'store_data_requests_in_flight');

const service = useQueryService({
  settings: { QUOTA_REQUESTS: '10000', QUOTA_WINDOW_SECONDS: '3600' },
});
const mongodb = useMade(() => startMongodbProxy(service.installation.mongodb));
afterEach(() => mongodb.restore());
const startBehind = (settings: Record<string, string>) =>
  startAppWith(service.installation, { MONGODB_URI: mongodb.uri, ...settings });

it('excess requests are refused with the usual headers, without counting against the quota, and do not block other senders', async () => {
  // Requests can wait for MongoDB during the whole test.
  const patient = { MONGODB_READ_TIMEOUT_MS: '60000', OVERLOAD_LATENCY_MS: '' };
  await using asked = await startBehind(patient);
  const [token, otherToken] = [await service.tokenFor('s1'), await service.tokenFor('s2')];
  const ask = (each: string) => asked.api.get(DATA, each);
  // Verified tokens identify the senders of later requests.
  await ask(otherToken);
  const before = remainingOf(await ask(token));
  mongodb.freeze();
  const waiting = times(MAX_IN_FLIGHT + 1, () => ask(token));
  expect((await Promise.race(waiting)).status).toBe(503);
  // Another store and an address without a valid token are not blocked.
  const other = ask(otherToken);
  await eventually(
    'the other store is let in',
    async () => (await inFlight(asked)) > MAX_IN_FLIGHT,
  );
  expect((await ask('nonsense')).status).toBe(401);
  const refusals = [
    [DATA, 'HEAD', 'private, no-cache'],
    ['/api/order/%63hanges?wait=30', 'GET', 'private, no-store'],
    [TOKEN_PATH, 'POST', 'no-store'],
  ] as const;
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'own' };
  const refused = refusals.map(async ([path, method]) => {
    const answer = await asked.api.call(path, { method, headers });
    const caching = answer.headers.get('cache-control');
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([503, 'own']);
    return [path, method, caching];
  });
  expect(await Promise.all(refused)).toEqual(refusals);
  await mongodb.restore();
  await Promise.all([...waiting, other]);
  expect(before - remainingOf(await ask(token))).toBe(MAX_IN_FLIGHT + 1);
  await eventually('none is in flight', async () => (await inFlight(asked)) === 0);
});

it('an unreachable MongoDB delays no request once it is known, and is used again once it is back', async () => {
  const readTimeoutMs = 3_000;
  await using running = await startBehind({ MONGODB_READ_TIMEOUT_MS: String(readTimeoutMs) });
  const health = async () => (await running.api.call('/health')).status;
  const away = () => sumOf([running], 'store_data_mongodb_away');
  await eventually('it is well', async () => (await health()) === 200);
  for (const fail of [() => mongodb.cut(), async () => mongodb.freeze()]) {
    await fail();
    await eventually('it is known', async () => (await health()) === 503 && (await away()) === 1);
    await quickOnce('refusals', readTimeoutMs / 2, async () => expect(await health()).toBe(503), 5);
    await mongodb.restore();
    await eventually('it is back', async () => (await health()) === 200);
    expect(await away()).toBe(0);
  }
});
