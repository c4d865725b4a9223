/**
 * The answers that clients see when a server of each kind is killed. Services have the timeouts of
 * production.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { pause } from '#shared/waiting.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { eventually } from '#test/eventually.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import type { RedisProcess } from '#test/redis-process.ts';
import { followsItsMaster } from '#test/redis-sentinels.ts';
import { times } from '#test/times.ts';
import { note } from './results.ts';
import { type Fleet, startFleet, statusOf } from './scaled-out/fleet.ts';
import type { GivenKey } from './scaled-out/integrations.ts';

/** Far longer than any step takes on a busy machine. */
const LIMIT_MS = 600_000;
const BOUND_MS = 60_000;
const REVOKED = 12;
/** Attempts with each revoked key. */
const TRIED_EVERY_MS = 250;

describe('three query services and three projectors under load, whose servers are killed', () => {
  let fleet: Fleet;
  let tried: { stop: () => Promise<Map<number, number>> };
  beforeAll(async () => {
    fleet = await startFleet(DEFAULT_TIMEOUTS);
  }, LIMIT_MS);
  afterAll(async () => {
    await tried?.stop();
    await fleet?.close();
  }, LIMIT_MS);

  /** Causes a fault, waits for recovery, and notes the clients' failures. */
  const watch = async (what: string, act: () => Promise<void>) => {
    const { integrations, trial } = fleet;
    integrations.takeFailures();
    const [before, began] = [integrations.answered(), performance.now()];
    await act();
    const appliedMs = await trial.untilAdvanced();
    // Once when they noticed, and once after that.
    for (let time = 0; time < 2; time += 1) await integrations.everyoneIsAnswered();
    const failures = integrations.takeFailures().filter(({ ended }) => ended > began);
    const lost = failures.filter(({ isLost }) => isLost).length;
    const kinds = Map.groupBy(failures, ({ what: kind }) => kind);
    const told = [...kinds].map(([kind, { length }]) => `${length} × ${kind}`).join(', ') || 'none';
    const lastMs = Math.max(0, ...failures.map(({ ended }) => ended - began));
    note(`${what}: events are applied`, [appliedMs], BOUND_MS);
    note(
      `${what}: the last attempt that failed (${told}; ${lost} requests given up)`,
      [lastMs],
      BOUND_MS,
      integrations.answered() - before,
    );
    return { appliedMs, lastMs, lost };
  };
  const kill = async (what: string, act: () => Promise<void>) => {
    const { appliedMs, lastMs } = await watch(`${what} killed`, act);
    expect(appliedMs).toBeLessThan(BOUND_MS);
    expect(lastMs).toBeLessThan(2 * BOUND_MS);
  };
  const restart = async (what: string, act: () => Promise<void>) => {
    const { lost } = await watch(`${what} restarted, one after the other`, act);
    expect(lost).toBe(0);
  };

  it('have revoked keys', async () => {
    const keys = await fleet.giveKeys(times(REVOKED, (index) => `s${index}`));
    for (const key of keys) await fleet.revoke(key);
    tried = tryAgainAndAgain(fleet.proxy.url, keys);
  });

  it('continue without the primary of MongoDB', async () => {
    const primary = await fleet.mongodb.primary();
    await kill('MongoDB primary', () => primary.kill());
    await primary.start();
  });

  it('continue without a broker', async () => {
    const topic = changesTopic(fleet.trial.disturbed);
    const broker = await fleet.kafka.leaderOf(topic, 0);
    await kill('Kafka broker', () => broker.kill());
    await broker.start();
    await fleet.kafka.inSync(topic);
  });

  it('continue without a master of Redis', async () => {
    const { redis, trial } = fleet;
    const { namePrefix } = trial.installation.config;
    // The master of a store whose integration sends requests.
    const { storeAccess } = redisKeys(namePrefix, trial.disturbed, 's0');
    const shard = redis.shards.find(({ holds }) => holds(storeAccess));
    await kill('Redis master', async () => shard?.master.kill());
    await shard?.master.start();
  });

  it('lose no request while the servers restart one by one', async () => {
    const { kafka, mongodb, redis, trial } = fleet;
    await restart('members of MongoDB', async () => {
      for (const server of mongodb.servers) {
        await server.end();
        await mongodb.primary();
        await server.start();
        await mongodb.whole();
      }
    });
    await restart('Kafka brokers', async () => {
      for (const server of kafka.servers) {
        await server.end();
        await server.start();
        await kafka.inSync(changesTopic(trial.disturbed));
      }
    });
    await restart('servers of Redis', async () => {
      for (const { master, replica } of redis.shards) {
        await handOver(master, replica);
        await handOver(replica, master);
      }
    });
  });

  it('have refused every revoked key, and lost no event', async () => {
    const statuses = await tried.stop();
    await fleet.integrations.stop();
    expect([...statuses.keys()].filter((status) => status !== 401 && status !== 503)).toEqual([]);
    expect(statuses.get(401)).toBeGreaterThan(REVOKED);
    await fleet.trial.conclude([]);
  });
});

/** Restarts a Redis server, after a failover to its replica if it is a master. */
async function handOver(server: RedisProcess, other: RedisProcess): Promise<void> {
  const roleOf = async ({ client }: RedisProcess) => (await client.role())[0];
  if ((await roleOf(server)) === 'master') {
    await followsItsMaster(other);
    await other.client.cluster('FAILOVER');
    await eventually('it has taken over', async () => (await roleOf(other)) === 'master');
    await followsItsMaster(server);
  }
  await server.kill();
  await server.start();
  await followsItsMaster(server);
}

/**
 * Sends requests with tokens repeatedly.
 * @returns a function that stops and returns the count of each status.
 */
function tryAgainAndAgain(
  url: string,
  keys: readonly GivenKey[],
): { stop: () => Promise<Map<number, number>> } {
  const over = new AbortController();
  const statuses = new Map<number, number>();
  const trying = keys.map(async ({ token }) => {
    while (await pause(TRIED_EVERY_MS, over.signal)) {
      const status = await statusOf(url, token);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return {
    async stop() {
      over.abort();
      await Promise.all(trying);
      return statuses;
    },
  };
}
