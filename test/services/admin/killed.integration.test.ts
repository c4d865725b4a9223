/**
 * Processes that are killed between their writes to MongoDB and Redis: their changes reach Redis
 * anyway.
 */
import { expect, it } from 'vitest';
import { useMade, useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startRedisProxy } from '#test/server-proxies.ts';
import { startCommand } from './run-command.ts';

/** Without a projector nothing else compares the two; a projector does so every ten minutes. */
const SOON_MS = 60_000;

const service = useQueryService({ oneRedis: true });
/** The killed processes' proxy to Redis, which swallows their writes. */
const proxy = useMade(() => startRedisProxy(service.installation.config.redis.url));

it('revocations of a key and of a session by killed commands take effect, even without a projector', async () => {
  const { api, control, installation } = service;
  const statusOf = async (token: string) => (await api.get('/api/order/list', token)).status;
  const ofKey = await service.tokenOf({ clientId: 'k1' });
  const ofSession = await service.tokenOf({ clientId: 'k2' });
  for (const token of [ofKey, ofSession]) expect(await statusOf(token)).toBe(200);
  await service.stopProjector();
  proxy.freeze();
  const env = { ...installation.env, REDIS_URL: proxy.url };
  const commands = ['keys revoke k1', 'sessions revoke --token'].map((words) =>
    startCommand(env, words),
  );
  for (const { process } of commands) process.stdin.end(ofSession);
  const revokedKey = () => control.keys.findOne({ _id: 'k1', status: 'revoked' });
  const revokedSession = () => control.revokedSessions.findOne({ client_id: 'k2' });
  await eventually('MongoDB has both', async () => {
    return (await revokedKey()) !== null && (await revokedSession()) !== null;
  });
  for (const { process } of commands) process.kill('SIGKILL');
  for (const { result } of commands) expect((await result).code).toBeNull();
  await eventually(
    'both are refused',
    async () => {
      return (await statusOf(ofKey)) === 401 && (await statusOf(ofSession)) === 401;
    },
    SOON_MS,
  );
  await service.startProjector();
  await eventually('nothing is pending', async () => {
    return (await revokedKey())?.publish_pending === undefined;
  });
});
