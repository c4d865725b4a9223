/** A large store is erased while its neighbours on the same partition go on, and the command is killed in the midst of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningProjector } from '#projector/projector.ts';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { runCommand, startCommand } from '../services/admin/run-command.ts';
import { noteFreshness, watchFreshness } from './freshness.ts';
import { note } from './results.ts';

const ORDERS = 50_000;
/** What ninety-nine of a hundred of the neighbours' events take at most until they are shown. */
const BOUND_MS = 500;
const WATCHED_MS = 20_000;
/** A busy machine takes long. */
const LONGEST_MS = 1_200_000;
const ERASE = ['stores', 'erase', 'large', '--yes'];

let installation: Installation;
let projector: RunningProjector;
let db: Db;
beforeAll(async () => {
  // One partition: every other store waits for whatever holds it up.
  installation = await createInstallation({ partitions: 1 });
  projector = await startSilentProjector(installation);
  db = await readModels(installation);
  await installation.publish(Array.from({ length: ORDERS }, (_, index) => order('large', index)));
  await caughtUp(installation, installation.environment, LONGEST_MS);
}, LONGEST_MS);
afterAll(async () => {
  await projector?.stop();
  await installation?.close();
});

const order = (storeId: string, index: number) =>
  orderEvent(`o${index}`, {
    storeId,
    data: {
      status: 'delivered',
      items: [{ product_id: 'p1', name: 'Pastel', quantity: 3, unit_price: '13.30', total: '39.90' }],
      customer: { id: 'c1', name: 'Consumidor Final' },
      created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
    },
  });

const left = () => db.collection(COLLECTIONS.order).countDocuments({ store_id: 'large' });

it(
  'neighbours on the same partition are shown as fresh as before, and the next command does what is left',
  { timeout: LONGEST_MS },
  async () => {
    const endBefore = watchFreshness(installation, db, order);
    await sleep(WATCHED_MS);
    const before = await endBefore();

    const end = watchFreshness(installation, db, order);
    const began = performance.now();
    const killed = startCommand(installation.env, ERASE);
    await eventually('half of it is gone', async () => (await left()) < ORDERS / 2, LONGEST_MS);
    killed.process.kill('SIGKILL');
    await killed.result;
    const { code, stderr } = await runCommand(installation.env, ERASE);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const erasedAfterMs = performance.now() - began;
    const meanwhile = await end();
    expect(await left()).toBe(0);
    const verified = await runCommand(installation.env, ['verify']);
    expect(verified.stdout + verified.stderr).toMatch(/all is right/);

    const fault = `a store of ${ORDERS} orders is erased`;
    noteFreshness(fault, { before, meanwhile }, BOUND_MS);
    note({
      fault: `${fault}: nothing of it is stored, one kill included`,
      recoveriesMs: [erasedAfterMs],
      boundMs: LONGEST_MS,
      events: ORDERS,
    });
    // A machine on which they take that long without an erasure tells nothing but that they do not take much longer.
    expect(meanwhile.p99).toBeLessThan(Math.max(BOUND_MS, 1.5 * before.p99));
  },
);
