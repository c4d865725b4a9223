/**
 * Redis with sentinels: after a failover, revocations that the replica lacks take effect before the
 * gate opens.
 */
import { expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startApp, startQueryService } from '#test/query-service.ts';
import { cutReplication, startRedisSentinels } from '#test/redis-sentinels.ts';
import {
  expectNoneAdmitted,
  createKeys,
  requestRepeatedly,
  areRevoked,
  revokeRights,
} from './revoked-rights.ts';

const redis = useMade(startRedisSentinels);
const service = useMade(() => startQueryService({ settings: redis.settings }));
const instances = [service, useMade(() => startApp(service.installation.config))];

it('rights revoked just before the master was killed do not return with its replica', async () => {
  const { master, replica } = redis;
  const tokens = await createKeys(service, instances);
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
