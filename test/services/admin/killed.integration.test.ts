/**
 * Processes that are killed between their writes to MongoDB and Redis: their changes reach Redis
 * anyway.
 */
import { afterEach, expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { sessionOfToken } from '#admin/commands/sessions.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startRedisProxy } from '#test/server-proxies.ts';
import { startCommand } from './run-command.ts';

/** Without a projector nothing else compares the two; a projector does so every ten minutes. */
const SOON_MS = 60_000;

const service = useQueryService({ oneRedis: true });
/** The killed processes' proxy to Redis, which swallows their writes. */
const proxy = useMade(() => startRedisProxy(service.installation.config.redis.url));
const env = () => ({ ...service.installation.env, REDIS_URL: proxy.url });
afterEach(() => proxy.restore());

const control = () => controlCollections(service.installation.databases.control);
const statusOf = async (token: string) => (await service.api.get('/api/order/list', token)).status;

async function keyWithToken(clientId: string): Promise<string> {
  await service.startProjector();
  const token = await service.tokenOf({ clientId });
  expect(await statusOf(token)).toBe(200);
  return token;
}

it('the revocation of a key by a killed command takes effect, even without a projector', async () => {
  const token = await keyWithToken('k1');
  await service.stopProjector();
  proxy.freeze();
  const command = startCommand(env(), 'keys revoke k1');
  await eventually('MongoDB has it', async () => {
    return (await control().keys.findOne({ _id: 'k1', status: 'revoked' })) !== null;
  });
  command.process.kill('SIGKILL');
  expect((await command.result).code).toBeNull();
  await eventually('the key is refused', async () => (await statusOf(token)) === 401, SOON_MS);
  expect(await control().keys.findOne({ _id: 'k1' })).toMatchObject({ publish_pending: true });
  await service.startProjector();
  await eventually('nothing is pending', async () => {
    return (await control().keys.findOne({ _id: 'k1' }))?.publish_pending === undefined;
  });
});

it('the revocation of a session by a killed command takes effect', async () => {
  const token = await keyWithToken('k2');
  const other = await service.api.token('k2', 'secret');
  await service.stopProjector();
  proxy.freeze();
  const command = startCommand(env(), 'sessions revoke --token');
  command.process.stdin.end(token);
  const { _id } = sessionOfToken(token) ?? { _id: '' };
  await eventually('MongoDB has it', async () => {
    return (await control().revokedSessions.findOne({ _id })) !== null;
  });
  command.process.kill('SIGKILL');
  await command.result;
  await eventually('the session is refused', async () => (await statusOf(token)) === 401, SOON_MS);
  expect(await statusOf(other)).toBe(200);
});
