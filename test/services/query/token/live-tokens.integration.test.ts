/** The maximum number of live tokens of a key over all instances (rule R4.9). */
import { expect, it } from 'vitest';
import { nodeFor } from '#shared/redis-masters.ts';
import type { Answer } from '#test/api-client.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { eventually } from '#test/eventually.ts';
import { startAppWith } from '#test/query-service.ts';
import { runJson } from '../../admin/run-command.ts';

const MAX = 3;
const SHORT_SECONDS = 4;

const service = useQueryService({ settings: { MAX_TOKENS_PER_KEY: String(MAX) } });
/** Another instance with short-lived tokens. */
const brief = useMade(() =>
  startAppWith(service.installation, { TOKEN_LIFETIME_SECONDS: String(SHORT_SECONDS) }),
);

const statusOf = async (token: string) => (await service.api.get('/api/order/list', token)).status;

/** Gets tokens up to the maximum. */
async function fill(clientId: string) {
  const tokens: string[] = [];
  while (tokens.length < MAX) tokens.push(await service.api.token(clientId, 'secret'));
  return tokens;
}

function expectTooMany({ status, json, text, headers }: Answer, longestSeconds = 901) {
  expect(status, text).toBe(429);
  expect(json).toMatchObject({ error: 'slow_down' });
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(longestSeconds);
}

it('a key at the maximum gets no token from any instance, and its tokens stay valid', async () => {
  await service.setKey({ clientId: 'many' });
  const asked = await Promise.all(
    times(4 * MAX, (index) => (index % 2 === 0 ? service : brief).api.askToken('many', 'secret')),
  );
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(MAX);
  for (const answer of asked) if (answer.status !== 200) expectTooMany(answer);
  // Another key of the same store has its own maximum.
  await service.setKey({ clientId: 'neighbour' });
  for (const token of await fill('neighbour')) expect(await statusOf(token)).toBe(200);
});

it('an expired token makes room for another, and not before', async () => {
  await service.setKey({ clientId: 'ending' });
  const ending = await brief.api.token('ending', 'secret');
  const kept = [
    await service.api.token('ending', 'secret'),
    await service.api.token('ending', 'secret'),
  ];
  const ask = () => service.api.askToken('ending', 'secret');
  expectTooMany(await ask(), SHORT_SECONDS + 1);
  await eventually('there is room again', async () => (await ask()).status === 200);
  expect(await Promise.all([ending, ...kept].map(statusOf))).toEqual([401, 200, 200]);
  expectTooMany(await ask());
});

it('a revoked session makes room for one token immediately', async () => {
  await service.setKey({ clientId: 'revoking' });
  const [revoked = '', ...others] = await fill('revoking');
  for (let time = 0; time < 2; time += 1) {
    await runJson(service.installation.env, ['sessions', 'revoke', '--token'], revoked);
  }
  await service.api.token('revoking', 'secret');
  expectTooMany(await service.api.askToken('revoking', 'secret'));
  expect(await Promise.all([revoked, ...others].map(statusOf))).toEqual([401, 200, 200]);
});

it('a request refused for another reason does not reveal the limit, and does not count', async () => {
  await service.setKey({ clientId: 'asked', scopes: ['order'] });
  const ask = (secret = 'secret', form?: string) => service.api.askToken('asked', secret, form);
  const expectRefused = async () => {
    expect((await ask('wrong')).status).toBe(401);
    for (const form of ['grant_type=password', 'grant_type=client_credentials&scope=menu'])
      expect((await ask('secret', form)).status).toBe(400);
  };
  await expectRefused();
  await fill('asked');
  await expectRefused();
  expectTooMany(await ask());
  await service.setKey({ clientId: 'asked', scopes: ['order'], status: 'inactive' });
  expect((await ask()).status).toBe(400);
});

it('a short-lived token does not end the count of longer-lived ones', async () => {
  await service.setKey({ clientId: 'passing' });
  await service.api.token('passing', 'secret');
  await brief.api.token('passing', 'secret');
  const name = service.inRedis('s1').tokens('passing');
  const left = await nodeFor(service.app.services.redis, name).pttl(name);
  expect(left).toBeGreaterThan(SHORT_SECONDS * 1_000);
});
