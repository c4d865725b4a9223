/** The maximum number of live tokens of a key over all instances (rule R4.9). */
import { expect, it } from 'vitest';
import { nodeFor } from '#shared/redis-masters.ts';
import type { Answer } from '#test/api-client.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startApp } from '#test/query-service.ts';
import { runJson } from '../../admin/run-command.ts';

const MAX = 3;
const SHORT_SECONDS = 4;

const service = useQueryService({ settings: { MAX_TOKENS_PER_KEY: String(MAX) } });
/** Another instance with short-lived tokens. */
const brief = useMade(() => {
  const { config } = service.installation;
  return startApp({ ...config, tokens: { ...config.tokens, lifetimeSeconds: SHORT_SECONDS } });
});

const statusOf = async (token: string) => (await service.api.get('/api/order/list', token)).status;

/** Gets tokens up to the maximum. */
async function fill(clientId: string): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < MAX) tokens.push(await service.api.token(clientId, 'secret'));
  return tokens;
}

function expectTooMany(answer: Answer, longestSeconds: number): number {
  expect(answer.status, answer.text).toBe(429);
  expect(answer.json).toMatchObject({ error: 'slow_down', code: 'slow_down' });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= longestSeconds).toBe(true);
  return seconds;
}

it('a key at the maximum gets no token from any instance, and its tokens stay valid', async () => {
  await service.setKey({ clientId: 'many' });
  const asked = await Promise.all(
    Array.from({ length: 4 * MAX }, (_, index) =>
      (index % 2 === 0 ? service : brief).api.askToken('many', 'secret'),
    ),
  );
  const given = asked.filter(({ status }) => status === 200);
  expect(given).toHaveLength(MAX);
  for (const answer of asked) if (answer.status !== 200) expectTooMany(answer, 901);
  expectTooMany(await service.api.askToken('many', 'secret'), 901);
  // Another key of the same store has its own maximum.
  await service.setKey({ clientId: 'neighbour' });
  for (const token of await fill('neighbour')) expect(await statusOf(token)).toBe(200);
});

it('an expired token makes room for another, and not before', async () => {
  await service.setKey({ clientId: 'ending' });
  const kept = [
    await service.api.token('ending', 'secret'),
    await service.api.token('ending', 'secret'),
  ];
  const ending = await brief.api.token('ending', 'secret');
  let told = 0;
  await eventually('there is room again', async () => {
    const answer = await service.api.askToken('ending', 'secret');
    if (answer.status === 200) return true;
    told = Math.max(told, expectTooMany(answer, SHORT_SECONDS + 1));
    return false;
  });
  expect(told).toBeGreaterThan(0);
  expect(await statusOf(ending)).toBe(401);
  expect(await Promise.all(kept.map(statusOf))).toEqual([200, 200]);
  expectTooMany(await service.api.askToken('ending', 'secret'), 901);
});

it('a revoked session makes room for one token immediately', async () => {
  await service.setKey({ clientId: 'revoking' });
  const [revoked = '', ...others] = await fill('revoking');
  for (let time = 0; time < 2; time += 1) {
    await runJson(service.installation.env, ['sessions', 'revoke', '--token'], revoked);
  }
  await service.api.token('revoking', 'secret');
  expectTooMany(await service.api.askToken('revoking', 'secret'), 901);
  expect(await statusOf(revoked)).toBe(401);
  expect(await Promise.all(others.map(statusOf))).toEqual([200, 200]);
});

it('a request refused for another reason does not reveal the limit, and does not count', async () => {
  await service.setKey({ clientId: 'asked', scopes: ['order'] });
  const others = async () => [
    (await service.api.askToken('asked', 'wrong')).status,
    (await service.api.askToken('asked', 'secret', 'grant_type=password')).status,
    (await service.api.askToken('asked', 'secret', 'grant_type=client_credentials&scope=menu'))
      .status,
  ];
  expect(await others()).toEqual([401, 400, 400]);
  await fill('asked');
  expect(await others()).toEqual([401, 400, 400]);
  expectTooMany(await service.api.askToken('asked', 'secret'), 901);
  await service.setKey({ clientId: 'asked', scopes: ['order'], status: 'inactive' });
  expect((await service.api.askToken('asked', 'secret')).status).toBe(400);
});

it('the count leaves nothing in Redis after the last token expired', async () => {
  await service.setKey({ clientId: 'passing' });
  const name = service.inRedis('s1').tokens('passing');
  const redis = nodeFor(service.app.services.redis, name);
  await brief.api.token('passing', 'secret');
  expect(await redis.pttl(name)).toBeGreaterThan(0);
  expect(await redis.pttl(name)).toBeLessThanOrEqual(SHORT_SECONDS * 1_000);
  // A longer-lived token of another instance keeps the count.
  await service.api.token('passing', 'secret');
  await brief.api.token('passing', 'secret');
  expect(await redis.pttl(name)).toBeGreaterThan(SHORT_SECONDS * 1_000);
});
