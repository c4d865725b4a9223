import { setTimeout } from 'node:timers/promises';
import { Counter, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Refused } from '#query/responses/refusal.ts';
import { createFailedAuthentications } from '#query/token/failed-authentications.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import { createRedis } from '#shared/redis.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation({ oneRedis: true });
});
afterAll(() => installation?.close());

const LIMITS = { windowSeconds: 60, perClientAndAddress: 8, perAddress: 20, perClient: 30 };

/** One instance of several that share Redis; each test has its own prefix. */
function instance(test: string, settings = LIMITS) {
  const registry = new Registry();
  const counter = new Counter({ name: 'failures', help: 'x', labelNames: ['limit'], registers: [registry] });
  const prefix = `${installation.config.namePrefix}:${test}`;
  const failures = createFailedAuthentications(onlyMaster(installation.redis), prefix, settings, counter);
  return {
    counter,
    /** Fails so often; the statuses. */
    async fail(client: string, address: string, times: number): Promise<number[]> {
      const statuses: number[] = [];
      for (let done = 0; done < times; done += 1) {
        statuses.push((await failures.attempt(client, address).failed()).status);
      }
      return statuses;
    },
    /** Seconds to wait; 0 where the secret decides. */
    async wait(client: string, address: string): Promise<number> {
      try {
        await failures.attempt(client, address).requireWithin();
        return 0;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return Number(error.refusal.headers['retry-after']);
      }
    },
  };
}

/** A timer counts from the turn's beginning and may end a millisecond early: the clock decides. */
async function passed(seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  while (performance.now() < until) await setTimeout(until - performance.now());
}

describe('one client from one address', () => {
  it('may fail as often as configured; then nothing of it passes from there, at any instance', async () => {
    const [one, two] = [instance('pair'), instance('pair')];
    expect(await one.fail('c', '192.0.2.1', 8)).toEqual(Array.from({ length: 8 }, () => 401));
    for (const { wait } of [one, two, one]) {
      expect(await wait('c', '192.0.2.1')).toBeGreaterThan(50);
      expect(await wait('c', '192.0.2.1')).toBeLessThanOrEqual(60);
    }
    expect(await one.wait('c', '::ffff:192.0.2.1')).toBeGreaterThan(0);
    expect(await two.fail('c', '192.0.2.1', 1)).toEqual([429]);
  });

  it('leaves alone the client at other addresses, and other clients at the address', async () => {
    const { fail, wait } = instance('others');
    await fail('c', '2001:db8::1', 8);
    expect(await wait('c', '2001:db8::ffff:1')).toBeGreaterThan(0);
    expect(await wait('c', '2001:db8:0:1::1')).toBe(0);
    expect(await wait('d', '2001:db8::1')).toBe(0);
  });

  it('is let in after the time that it was told', async () => {
    const settings = { ...LIMITS, windowSeconds: 1, perClientAndAddress: 1 };
    const { fail, wait } = instance('waits', settings);
    // On a busy machine the window may be over before it is looked at.
    let seconds = 0;
    await eventually('it must wait', async () => {
      await fail('c', '192.0.2.1', 1);
      seconds = await wait('c', '192.0.2.1');
      return seconds > 0;
    });
    expect(seconds).toBe(1);
    await passed(seconds);
    expect(await wait('c', '192.0.2.1')).toBe(0);
  });
});

describe('an address', () => {
  it('that fails for many clients gets 429 for wrong secrets, and no right one is refused for it', async () => {
    const { fail, wait, counter } = instance('address');
    const statuses: number[] = [];
    for (let client = 0; client < 25; client += 1)
      statuses.push(...(await fail(`c${client}`, '192.0.2.1', 1)));
    expect(statuses).toEqual(Array.from({ length: 25 }, (_, index) => (index < 20 ? 401 : 429)));
    expect(await wait('never-failed', '192.0.2.1')).toBe(0);
    expect(await wait('c3', '192.0.2.1')).toBe(0);
    expect(await fail('never-failed', '192.0.2.2', 1)).toEqual([401]);
    const { values } = await counter.get();
    expect(values.map(({ labels, value }) => [labels.limit, value])).toEqual([
      ['none', 21],
      ['address', 5],
    ]);
  });

  it('leaves each client fewer guesses from there', async () => {
    const { fail, wait } = instance('fewer');
    for (let client = 0; client < 20; client += 1) await fail(`c${client}`, '192.0.2.1', 1);
    await fail('guessed', '192.0.2.1', 4);
    expect(await wait('guessed', '192.0.2.1')).toBe(0);
    await fail('guessed', '192.0.2.1', 1);
    expect(await wait('guessed', '192.0.2.1')).toBeGreaterThan(0);
  });
});

describe('a client', () => {
  it('that strangers fail a thousand times for passes with the right secret from its own address', async () => {
    const { fail, wait } = instance('client', { ...LIMITS, perAddress: 1_000_000 });
    const strangers = Array.from({ length: 125 }, (_, index) => `198.51.100.${index}`);
    const statuses = (await Promise.all(strangers.map((stranger) => fail('c', stranger, 8)))).flat();
    expect(statuses).toHaveLength(1_000);
    expect(statuses.filter((status) => status === 401)).toHaveLength(30);
    expect(await wait('c', '192.0.2.1')).toBe(0);
    // Each further address may guess less often.
    expect(await fail('c', '203.0.113.1', 5)).toEqual([429, 429, 429, 429, 429]);
    expect(await wait('c', '203.0.113.1')).toBeGreaterThan(0);
    expect(await wait('d', '203.0.113.1')).toBe(0);
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

it('throws when Redis is away: an outage is neither a yes nor a no', async () => {
  const { config } = installation;
  const redis = createRedis(
    { ...config, redis: { ...config.redis, url: 'redis://127.0.0.1:1', commandTimeoutMs: 100 } },
    { away: () => undefined },
  );
  try {
    const counter = new Counter({ name: 'away', help: 'x', labelNames: ['limit'], registers: [] });
    const attempt = createFailedAuthentications(redis, 'x', LIMITS, counter).attempt('c', '192.0.2.1');
    await expect(attempt.failed()).rejects.not.toBeInstanceOf(Refused);
    await expect(attempt.requireWithin()).rejects.not.toBeInstanceOf(Refused);
  } finally {
    redis.disconnect();
  }
});
