/** How failures are counted, and what is kept of them; guessing over real sockets is `../brute-force.integration.test.ts`. */
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { Refused } from '#query/responses/refusal.ts';
import { createFailedAuthentications } from '#query/token/failed-authentications.ts';
import { onlyMaster } from '#shared/redis-masters.ts';

const installation = useInstallation({ oneRedis: true });

const LIMITS = { windowSeconds: 60, perClientAndAddress: 8, perAddress: 20, perClient: 30 };

/** One instance of several that share Redis; each test has its own prefix. */
function instance(test: string, settings = LIMITS) {
  const registry = new Registry();
  const counter = new Counter({ name: 'failures', help: 'x', labelNames: ['limit'], registers: [registry] });
  const prefix = `${installation.config.namePrefix}:${test}`;
  const attempt = createFailedAuthentications(onlyMaster(installation.redis), prefix, settings, counter);
  return {
    counter,
    /** Fails so often; the statuses. */
    async fail(client: string, address: string, times: number): Promise<number[]> {
      const statuses: number[] = [];
      for (let done = 0; done < times; done += 1) {
        statuses.push((await attempt(client, address).failed()).status);
      }
      return statuses;
    },
    /** Seconds to wait; 0 where the secret decides. */
    async wait(client: string, address: string): Promise<number> {
      try {
        await attempt(client, address).requireWithin();
        return 0;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return Number(error.refusal.headers['retry-after']);
      }
    },
  };
}

describe('an address', () => {
  it('leaves each client fewer guesses from there', async () => {
    const { fail, wait } = instance('fewer');
    for (let client = 0; client < 20; client += 1) await fail(`c${client}`, '192.0.2.1', 1);
    await fail('guessed', '192.0.2.1', 4);
    expect(await wait('guessed', '192.0.2.1')).toBe(0);
    await fail('guessed', '192.0.2.1', 1);
    expect(await wait('guessed', '192.0.2.1')).toBeGreaterThan(0);
  });
});

it('keeps no address and no client_id, and nothing longer than a window', async () => {
  const { fail } = instance('keys');
  await fail('some-client', '203.0.113.77', 1);
  const keys = await installation.redis.keys(`${installation.config.namePrefix}:keys:*`);
  expect(keys).toHaveLength(3);
  for (const key of keys) {
    expect(key).not.toMatch(/203|some-client/);
    expect(await installation.redis.pttl(key)).toBeGreaterThan(0);
    expect(await installation.redis.pttl(key)).toBeLessThanOrEqual(60_000);
  }
});

it('counts the invented clients of one address in a bounded number of places', async () => {
  const { fail } = instance('withDeadline');
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => fail(`invented-${index}`, '192.0.2.1', 1)));
  const keys = await installation.redis.keys(`${installation.config.namePrefix}:withDeadline:*`);
  const names = keys.filter((key) => key.includes('}:client:'));
  // 16 bits tell clients apart: some of so many fall together.
  expect(names.every((name) => /:client:[0-9a-f]{4}$/.test(name))).toBe(true);
  expect(names.length).toBeLessThan(2_000);
});
