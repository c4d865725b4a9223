/** Redis behind sentinels: a master that is killed is replaced, and what its replica does not know counts before anybody is let in. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#test/installation.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { cutReplication, type RedisSentinels, startRedisSentinels } from '#test/redis-sentinels.ts';
import { expectNobodyWasLetIn, giveAccess, hammer, isTakenAway, takeAway, type Tokens } from './taken-away.ts';

let redis: RedisSentinels;
let service: QueryService;
let instances: RunningApp[];
let tokens: Tokens;

beforeAll(async () => {
  redis = await startRedisSentinels();
  service = await startQueryService({ settings: redis.settings });
  instances = [service, await startApp(service.installation.config)];
  tokens = await giveAccess(service, instances);
});
afterAll(async () => {
  await instances?.[1]?.app.close();
  await service?.close();
  await redis?.close();
});

it('what was taken away just before the master was killed is not given back by its replica', async () => {
  const { master, replica } = redis;
  await cutReplication(master, replica);
  await takeAway(service, tokens);
  await eventually('all is right', () => isTakenAway(instances, tokens));
  const stop = hammer(instances, tokens);
  // A machine goes with all that runs on it.
  await Promise.all([master.kill(), redis.killSentinel()]);
  await eventually('requests pass again', () => isTakenAway(instances, tokens));
  const seen = await stop();
  expectNobodyWasLetIn(seen);
  expect(seen['untouched']).toEqual(new Set([200, 503]));
  expect(await replica.client.role()).toContain('master');
});
