/** The quota of a store over several instances, each a process of its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { type ApiClient, createApiClient } from '#test/api-client.ts';
import { eventually } from '#test/installation.ts';
import { startApp } from '#test/query-service.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';

const QUOTA = 150;
const INSTANCES = 3;

const service = useQueryService();
let processes: ServiceProcess[];
let instances: ApiClient[];

beforeAll(async () => {
  const env = {
    ...service.installation.env,
    QUOTA_REQUESTS: String(QUOTA),
    QUOTA_WINDOW_SECONDS: '3600',
  };
  processes = Array.from({ length: INSTANCES }, () => startService('query', env));
  const started = await Promise.all(
    processes.map(({ logged }) => logged(({ msg }) => msg === 'query service started')),
  );
  instances = started.map(({ url }) => createApiClient(String(url)));
});
afterAll(async () => {
  for (const { kill } of processes ?? []) kill('SIGKILL');
  await Promise.all((processes ?? []).map(({ ended }) => ended));
});

async function newToken(store: string, client = `of-${store}`): Promise<string> {
  await service.setKey({ clientId: client, storeId: store });
  return service.api.token(client, 'secret');
}

/** Asks each instance so often, all at once; how many answers had which status. */
async function flood(tokens: string[], timesEach: number): Promise<Record<number, number>> {
  const answers = await Promise.all(
    instances.flatMap((api) =>
      tokens.flatMap((token) =>
        Array.from({ length: timesEach }, async () => (await api.get('/api/store/info/', token)).status),
      ),
    ),
  );
  const counts: Record<number, number> = {};
  for (const status of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('three instances under load', () => {
  it('let exactly the quota pass, whichever tokens and instances are used', async () => {
    const tokens = [await newToken('s1'), await newToken('s1', 'second-of-s1')];
    // The store has no record: what passes is answered 404, and counts.
    expect(await flood(tokens, 50)).toEqual({ 404: QUOTA, 429: 300 - QUOTA });
    expect(await flood(tokens, 10)).toEqual({ 429: 60 });
  });

  it('tell each of the requests that come at once what was left when it was counted', async () => {
    const token = await newToken('s4');
    const left = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const answer = await instances[index % INSTANCES]?.get('/api/store/info/', token);
        return Number(/;r=(\d+);/.exec(answer?.headers.get('ratelimit') ?? '')?.[1]);
      }),
    );
    expect(left.toSorted((a, b) => b - a)).toEqual(Array.from({ length: 60 }, (_, index) => QUOTA - 1 - index));
  });

  it('take nothing from a store for tokens that don’t pass any more, not even while they are asked', async () => {
    const [live, revoked] = [await newToken('s2'), await newToken('s2', 'revoked-of-s2')];
    // Seen to pass at each instance, so that it is counted before it is known that it does not.
    expect(await flood([revoked], 1)).toEqual({ 404: 3 });
    await service.setKey({ clientId: 'revoked-of-s2', storeId: 's2', status: 'revoked' });
    expect(await flood([revoked], 1)).toEqual({ 401: 3 });
    const answers = await flood([revoked, live], 60);
    expect(answers).toEqual({ 401: 180, 404: QUOTA - 3, 429: 180 - (QUOTA - 3) });
    expect(await service.installation.redis.get(service.inRedis('s2').quota(3_600))).toBe(String(180 + 3));
  });
});

it('gives an end to a count that lost its own', async () => {
  const { installation, api } = service;
  const { redis, config } = installation;
  const token = await newToken('endless');
  const { windowSeconds } = config.query.quota;
  const name = service.inRedis('endless').quota(windowSeconds);
  await redis.set(name, '1');
  const answer = await api.get('/api/store/info/', token);
  expect(answer.headers.get('ratelimit')).toContain(`;t=${windowSeconds}`);
  expect(await redis.pttl(name)).toBeGreaterThan(0);
});

it('lets a client in that waits for Retry-After, time and again', async () => {
  const { config } = service.installation;
  const quota = { requests: 2, windowSeconds: 2 };
  const { app, api } = await startApp({ ...config, query: { ...config.query, quota } });
  try {
    const token = await newToken('patient');
    let windows = 0;
    await eventually('two windows were seen as a whole', async () => {
      const began = performance.now();
      const answers = [];
      do answers.push(await api.get('/api/store/info/', token));
      while (answers.at(-1)?.status === 404);
      const took = performance.now() - began;
      const told = Number(answers.at(-1)?.headers.get('retry-after'));
      // A client that waited so long is let in, and its first request opens the window: exactly two pass in it.
      const statuses = answers.map(({ status }) => status);
      expect(statuses.slice(0, 2)).toEqual([404, 404]);
      expect(told).toBeGreaterThanOrEqual(1);
      expect(told).toBeLessThanOrEqual(2);
      // On a busy machine it may end before it is used up.
      if (took < 1_500) {
        expect(statuses).toHaveLength(3);
        windows += 1;
      }
      await new Promise((resolve) => setTimeout(resolve, told * 1_000));
      return windows === 2;
    });
  } finally {
    await app.close();
  }
});
