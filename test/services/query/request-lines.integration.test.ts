import { expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { useInstallation, useMade } from '#test/hooks.ts';
import { createApiClient } from '#test/api-client.ts';
import { times } from '#test/times.ts';
import { startApp } from '#test/query-service.ts';
import { startRedisProxy } from '#test/server-proxies.ts';

interface Line {
  msg: string;
  route?: string;
  error?: string;
}

const REQUESTS = 100;

const installation = useInstallation({ oneRedis: true });
const redis = useMade(() => startRedisProxy(installation.config.redis.url));

/** Starts a service and sends requests. @returns its log lines. */
async function linesOf(percent: string, ask: (url: string) => Promise<unknown>) {
  const lines: Line[] = [];
  const config = readConfig({
    ...installation.env,
    REDIS_URL: redis.url,
    LOG_REQUESTS_PERCENT: percent,
  });
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Line) };
  await using service = await startApp(config, createLogger('query', 'info', destination));
  lines.length = 0;
  await ask(service.url);
  return [...lines];
}

async function routesLogged(percent: string) {
  const lines = await linesOf(percent, async (url) => {
    for (let request = 0; request < REQUESTS; request += 1) {
      await fetch(`${url}/health`);
      await fetch(`${url}/openapi.json`);
    }
  });
  return lines.filter(({ msg }) => msg === 'request').map(({ route }) => route);
}

it('are all except /health, or a sample or none by setting', async () => {
  expect(await routesLogged('100')).toEqual(times(REQUESTS, () => '/openapi.json'));
  const sample = (await routesLogged('50')).length;
  expect(sample).toBeGreaterThan(REQUESTS * 0.25);
  expect(sample).toBeLessThan(REQUESTS * 0.75);
  expect(await routesLogged('0')).toEqual([]);
});

it('the reason of a 503 is logged once for any number of requests', async () => {
  const lines = await linesOf('0', async (url) => {
    await redis.cut();
    for (let request = 0; request < REQUESTS; request += 1) {
      expect((await createApiClient(url).askToken('client', 'secret')).status).toBe(503);
    }
  });
  const reasons = lines.filter(({ msg }) => msg === 'request answered with 503');
  expect(reasons.length).toBeGreaterThan(0);
  expect(new Set(reasons.map(({ error }) => error)).size).toBe(reasons.length);
});
