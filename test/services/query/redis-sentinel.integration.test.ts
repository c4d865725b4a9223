/** Redis with sentinels: after a failover, revocations that the replica lacks take effect before the gate opens. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#test/installation.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { cutReplication, type RedisSentinels, startRedisSentinels } from '#test/redis-sentinels.ts';
import {
  expectNoneAdmitted,
  createKeys,
  requestRepeatedly,
  areRevoked,
  revokeRights,
  type Tokens,
} from './revoked-rights.ts';

let redis: RedisSentinels;
let service: QueryService;
let instances: RunningApp[];
let tokens: Tokens;

beforeAll(async () => {
  redis = await startRedisSentinels();
  service = await startQueryService({ settings: redis.settings });
  instances = [service, await startApp(service.installation.config)];
  tokens = await createKeys(service, instances);
});
afterAll(async () => {
  await instances?.[1]?.app.close();
  await service?.close();
  await redis?.close();
});

it('rights revoked just before the master was killed do not return with its replica', async () => {
  const { master, replica } = redis;
  await cutReplication(master, replica);
  await revokeRights(service, tokens);
  await eventually('all is right', () => areRevoked(instances, tokens));
  const stop = requestRepeatedly(instances, tokens);
  // The machine with a sentinel and the master dies.
  await Promise.all([master.kill(), redis.killSentinel()]);
  await eventually('requests pass again', () => areRevoked(instances, tokens));
  const seen = await stop();
  expectNoneAdmitted(seen);
  expect(seen['untouched']).toEqual(new Set([200, 503]));
  expect(await replica.client.role()).toContain('master');
});
