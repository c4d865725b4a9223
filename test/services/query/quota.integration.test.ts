/** The quota of a store over several instances. */
import { describe, expect, it } from 'vitest';
import { useMade, useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { remainingOf } from '#test/api-client.ts';
import { startAppWith } from '#test/query-service.ts';

const QUOTA = 150;
const INSTANCES = 3;

const service = useQueryService();
const limited = (requests: number, seconds: number) =>
  startAppWith(service.installation, {
    QUOTA_REQUESTS: String(requests),
    QUOTA_WINDOW_SECONDS: String(seconds),
  });
const instances = times(INSTANCES, () => useMade(() => limited(QUOTA, 3_600)));

/** Sends so many concurrent requests to each instance. @returns the count of each status. */
async function flood(tokens: string[], timesEach: number) {
  const answers = await Promise.all(
    instances.flatMap(({ api }) =>
      tokens.flatMap((token) => times(timesEach, () => api.get('/api/store/info/', token))),
    ),
  );
  const byStatus = Object.groupBy(answers, ({ status }) => status);
  return Object.fromEntries(Object.entries(byStatus).map(([status, all]) => [status, all?.length]));
}

describe('three instances under load', () => {
  it('admit exactly the quota, with any tokens and instances', async () => {
    const tokens = [await service.tokenFor('s1'), await service.tokenOf({ clientId: 'second' })];
    // The store has no record: an admitted request gets 404, and counts.
    expect(await flood(tokens, 50)).toEqual({ 404: QUOTA, 429: 300 - QUOTA });
    expect(await flood(tokens, 10)).toEqual({ 429: 60 });
  });

  it('return to each concurrent request the remaining quota at its count', async () => {
    const token = await service.tokenFor('s4');
    const left = await Promise.all(
      times(60, async (index) => {
        const answer = await instances[index % INSTANCES]?.api.get('/api/store/info/', token);
        return answer && remainingOf(answer);
      }),
    );
    expect(new Set(left)).toEqual(new Set(times(60, (index) => QUOTA - 1 - index)));
  });

  it('do not count requests with tokens that are no longer valid, even concurrent ones', async () => {
    const key = { clientId: 'revoked', storeId: 's2' };
    const [live, revoked] = [await service.tokenFor('s2'), await service.tokenOf(key)];
    // Every instance has the token in its cache, so that it counts before it knows of the
    // revocation.
    expect(await flood([revoked], 1)).toEqual({ 404: 3 });
    await service.setKey({ ...key, status: 'revoked' });
    expect(await flood([revoked], 1)).toEqual({ 401: 3 });
    const answers = await flood([revoked, live], 60);
    expect(answers).toEqual({ 401: 180, 404: QUOTA - 3, 429: 180 - (QUOTA - 3) });
  });
});

// A clock that was set back by an hour leaves counts that end an hour late.
it.each([
  ['that lost it', null],
  ['whose end is later than its window', 3_600],
])('restore the expiry of a counter %s', async (_which, seconds) => {
  const { redis, config } = service.installation;
  const store = `endless-${seconds}`;
  const { windowSeconds } = config.query.quota;
  const name = service.inRedis(store).quota(windowSeconds);
  await redis.set(name, '1');
  if (seconds !== null) await redis.expire(name, seconds);
  const { headers } = await service.get('/api/store/info/', store);
  expect(headers.get('ratelimit')).toContain(`;t=${windowSeconds}`);
  const secondsLeft = await redis.ttl(name);
  expect(secondsLeft).toBeGreaterThan(0);
  expect(secondsLeft).toBeLessThanOrEqual(windowSeconds);
});

it('admit a client that waited for Retry-After', async () => {
  await using small = await limited(2, 2);
  const token = await service.tokenFor('patient');
  const ask = () => small.api.get('/api/store/info/', token);
  let last = await ask();
  while (last.status === 404) last = await ask();
  const seconds = Number(last.headers.get('retry-after'));
  expect([1, 2]).toContain(seconds);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  expect([(await ask()).status, (await ask()).status]).toEqual([404, 404]);
});
