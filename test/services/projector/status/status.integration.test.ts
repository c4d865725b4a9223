/** The page for operators, as a browser shows it, and what it is made from. */
import { Redis } from 'ioredis';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { controlCollections, storeAccessId } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { createLogger } from '#shared/logging.ts';
import { type Operations, startOperations } from '#shared/operations.ts';
import { controlDatabase } from '#shared/read-models/databases.ts';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { statusPages } from '#projector/status/pages.ts';
import type { Status } from '#projector/status/status.ts';
import { readStoreUse } from '#projector/status/store-use.ts';
import { DESKTOP, PHONE, startBrowser, visitPage } from '#test/browser.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';

const logger = createLogger('test', 'silent');
const ORDER = {
  status: 'pending',
  order_type: 'delivery',
  total: '10.00',
  created_at: '2026-03-01T12:00:00Z',
};

let installation: Installation;
let projector: RunningProjector;
let operations: Operations;
let browser: Browser;
/** What the page is told; the projector has not started while this is `null`. */
let read: () => Promise<Status | null>;

beforeAll(async () => {
  [installation, browser] = await Promise.all([createInstallation(), startBrowser()]);
  const { config, environment, mongodb, redis } = installation;
  projector = await startProjector(config, logger);
  read = () => projector.status();
  operations = await startOperations({
    host: '127.0.0.1',
    port: 0,
    live: () => true,
    ready: () => true,
    registry: projector.metrics.registry,
    pages: statusPages(() => read()),
    logger,
  });
  const customer = { id: 'c1', name: 'Maria Secreta', phone: '11 98765', document: '123' };
  await installation.publish(
    ['s1', 's2'].map((storeId) => ({
      entity: 'order',
      storeId,
      subject: 'o1',
      sequence: 1,
      data: { ...ORDER, customer },
    })),
  );
  await installation.send(changesTopic(environment), [{ key: 's1', value: '<b>Maria Secreta</b>' }]);
  await caughtUp(installation);
  const keys = (store: string) => redisKeys(config.namePrefix, environment, store);
  await redis.set(keys('s1').session('5e551041d'), 'client-of-s1', 'EX', 600);
  await redis.set(keys('s1').session('5e551042d'), 'client-of-s1', 'EX', 600);
  await redis.set(keys('s2').session('5e551043d'), 'client-of-s2', 'EX', 600);
  await redis.set(keys('s1').quota(60), '12', 'EX', 600);
  await redis.set(keys('s2').quota(60), '345', 'EX', 600);
  await controlCollections(controlDatabase(mongodb, config.namePrefix)).stores.updateOne(
    { _id: storeAccessId(environment, 's2') },
    { $set: { environment, store_id: 's2', quota: { requests: 400 } } },
    { upsert: true },
  );
});
afterAll(async () => {
  await browser?.close();
  await operations?.close();
  await projector?.stop();
  await installation?.close();
});

const readStatus = async () => (await (await fetch(`${operations.url}/status.json`)).json()) as Status;

describe('what the page is made from', () => {
  it('has generations, partitions, freshness, dead letters and the use of stores', async () => {
    const { environment } = installation;
    await vi.waitFor(
      async () =>
        expect(await readStatus()).toMatchObject({
          applied: 2,
          generations: [{ environment, generation: 'g1', state: 'live', share: null }],
          dead_letters: [{ environment, generation: 'g1', reason: 'malformed', messages: 1 }],
          use: {
            stores: [
              { store_id: 's2', environment, requests: 345, quota: 400, sessions: 1 },
              { store_id: 's1', environment, requests: 12, quota: null, sessions: 2 },
            ],
            sessions: 3,
            complete: true,
          },
        }),
      { timeout: 60_000, interval: 200 },
    );
    const { partitions, freshness } = await readStatus();
    const ofChanges = partitions.filter(({ topic }) => topic === changesTopic(environment));
    expect(ofChanges.map(({ partition }) => partition)).toEqual(expect.arrayContaining([0, 1]));
    for (const one of ofChanges)
      expect(one).toMatchObject({ lag: 0, stopped: false, failing: 0, still_for_seconds: 0 });
    expect(freshness[0]?.buckets.at(-1)).toEqual({ seconds: null, events: 2 });
  });

  it('names no person, no key, no session and no message', async () => {
    const text = JSON.stringify(await readStatus());
    expect(text).toContain('s1');
    for (const secret of ['Maria', '98765', 'client-of', '5e5510']) expect(text).not.toContain(secret);
  });

  it('says what it does not know while Redis is away', async () => {
    const away = new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true, enableOfflineQueue: false });
    const { config, mongodb, environment } = installation;
    const control = controlDatabase(mongodb, config.namePrefix);
    const asked = readStoreUse({
      redis: { all: () => [onlyMaster(away)] },
      control,
      prefix: config.namePrefix,
      environments: [environment],
    });
    await expect(asked).rejects.toThrow();
    away.disconnect();
  });

  it('lets a browser run nothing but its own script', async () => {
    for (const path of ['/', '/status.js', '/status.css', '/status.json']) {
      const { status, headers } = await fetch(operations.url + path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|https?:/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await fetch(operations.url, { method: 'POST' })).status).toBe(405);
  });
});

describe.each([
  ['desktop', DESKTOP],
  ['phone', PHONE],
])('on a %s', (_name, viewport) => {
  it('the page shows it, and goes on showing what changes', () =>
    visitPage(browser, operations.url, '/', viewport, async (page) => {
      const row = (text: string) => page.getByRole('row', { name: new RegExp(text) });
      await row(`s2 ${installation.environment} 345 400 1`).waitFor();
      await row(`s1 ${installation.environment} 12 as configured 2`).waitFor();
      await row(`${installation.environment} g1 live`).waitFor();
      expect(await row(`${changesTopic(installation.environment)} \\d+ g1 0 – well`).count()).toBe(2);
      expect(await page.locator('#sessions').textContent()).toBe('3');
      await page.locator('#rate-chart polyline[points*=" "]').waitFor({ state: 'attached' });
      // It may be wider than a phone only where tables are.
      expect(
        await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'),
      ).toBeLessThanOrEqual(0);
    }));
});

it('a page that is opened too early says what is waited for', async () => {
  const now = read;
  read = async () => null;
  try {
    const page = await browser.newPage();
    await page.goto(operations.url);
    await page.getByText('the projector waits for Kafka and MongoDB').waitFor();
    read = now;
    await page.getByRole('row', { name: / g1 live/ }).waitFor();
    await page.close();
  } finally {
    read = now;
  }
});
