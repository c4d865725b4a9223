/**
 * The users of deploy/privileges on the oldest server releases that docs/deploying.md names, if
 * they are available.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createRedis } from '#shared/redis.ts';
import { debianRedis } from '#test/debian-redis.ts';
import { asDataUser, startRedisWithUsers } from './privileges.ts';

const OTHERS = {
  KAFKA_BROKERS: '127.0.0.1:1',
  MONGODB_URI: 'mongodb://127.0.0.1',
  REDIS_COMMAND_TIMEOUT_MS: '5000',
};
const seven = await debianRedis();
if (typeof seven === 'string') process.stderr.write(`skipped, Redis 7.0: ${seven}\n`);

describe('Redis with the users of redis.acl', () => {
  it.each([
    { release: 'of the local stack', env: process.env },
    ...(typeof seven === 'string' ? [] : [{ release: '7.0', env: seven }]),
  ])('$release starts, and refuses them nothing that they need to connect', async ({ env }) => {
    await using cleanup = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'store-data-oldest-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const redis = await startRedisWithUsers(folder, cleanup, env);
    for (const user of ['store-data-query', 'store-data-projector'] as const) {
      const config = readConfig({ ...OTHERS, REDIS_URL: redis.url, ...asDataUser(user) });
      const client = createRedis(config, { away: () => undefined });
      cleanup.defer(() => Promise.resolve(client.disconnect()));
      await client.ready(20_000);
      expect(await client.all()[0]?.redis.set('store_data:x', '1')).toBe('OK');
    }
    expect(await redis.client.call('ACL', 'LOG')).toEqual([]);
  });
});
