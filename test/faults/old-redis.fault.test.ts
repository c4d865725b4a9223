/**
 * An old copy of Redis is restored under running query services: measures how long they accept
 * revoked rights.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startApp, startQueryService } from '#test/query-service.ts';
import { copyRedis, type RedisCopy, restoreCopy, rewriteCopy } from '#test/redis-copy.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import { followsItsMaster } from '#test/redis-sentinels.ts';
import { note } from './results.ts';

const ROUNDS = 20;
/** One check per second, and the time to reconcile a few keys. */
const BOUND_MS = 1_500;

const own = useMade(startRedisProcess);
const service = useMade(() => startQueryService({ settings: { REDIS_URL: own.url } }));
const other = useMade(() => startApp(service.installation.config));
let copy: RedisCopy;
let snapshot: Buffer;
let token: string;

beforeAll(async () => {
  service.installation.redis.on('error', () => undefined);
  token = await service.tokenOf({ clientId: 'revoked' });
  expect(await statuses()).toEqual([200, 200]);
  copy = await copyRedis(own.client);
  snapshot = await own.snapshot();
  await service.setKey({ clientId: 'revoked', status: 'revoked' });
  await service.stopProjector();
});

function statuses(): Promise<number[]> {
  const asked = [service, other].map(({ api }) => api.get('/api/order/list', token));
  return Promise.all(asked.map(async (answer) => (await answer).status));
}

/**
 * Restores the old state repeatedly.
 * @returns for each time how long any instance accepted the key.
 */
async function acceptedAfter(bringBack: () => Promise<void>): Promise<number[]> {
  const accepted: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await eventually('both refuse it', async () =>
      (await statuses()).every((status) => status === 401),
    );
    // At a random moment between two checks.
    await sleep(1_000 + Math.random() * 1_000);
    await bringBack();
    const broughtBackAt = performance.now();
    let last = broughtBackAt;
    // Two checks of each instance after the last acceptance.
    while (performance.now() - last < 2_500) {
      const seen = await statuses();
      expect(seen.filter((status) => ![200, 401, 503].includes(status))).toEqual([]);
      if (seen.includes(200)) last = performance.now();
      await sleep(2);
    }
    accepted.push(last - broughtBackAt);
  }
  return accepted;
}

function conclude(fault: string, recoveriesMs: number[]): void {
  note({ fault, recoveriesMs, boundMs: BOUND_MS, events: 0 });
  expect(Math.max(...recoveriesMs)).toBeLessThan(BOUND_MS);
}

describe('a revoked key is refused from the next check on', () => {
  it('after FLUSHALL and RESTORE', async () => {
    conclude(
      'an old copy restored into the running Redis',
      await acceptedAfter(() => restoreCopy(own.client, copy)),
    );
  });

  it('after an old copy was written with plain commands', async () => {
    conclude(
      'the same with plain commands',
      await acceptedAfter(() => rewriteCopy(own.client, copy)),
    );
  });

  it('after the same process took over the data of another and became a primary again', async () => {
    const old = await startRedisProcess();
    try {
      await old.kill();
      await old.start(snapshot);
      conclude(
        'REPLICAOF an old copy, and back',
        await acceptedAfter(async () => {
          await own.client.replicaof('127.0.0.1', String(old.port));
          await followsItsMaster(own);
          await own.client.replicaof('NO', 'ONE');
        }),
      );
    } finally {
      await old.close();
    }
  });
});
