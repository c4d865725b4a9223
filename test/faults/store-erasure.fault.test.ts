/**
 * Erases a large store while its neighbours on the same partition continue, and kills the command
 * in the middle.
 */
import type { Db } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { runCommand, startCommand } from '../services/admin/run-command.ts';
import { staysFresh } from './freshness.ts';
import { note } from './results.ts';

const ORDERS = 50_000;
/** For a busy machine. */
const LONGEST_MS = 1_200_000;
const ERASE = ['stores', 'erase', 'large', '--yes'];

// One partition: a delay in it delays every other store.
const installation = useInstallation({ partitions: 1 });
useProjector(installation);
let db: Db;
beforeAll(async () => {
  db = await readModels(installation);
  await installation.publish(Array.from({ length: ORDERS }, (_, index) => order('large', index)));
  await caughtUp(installation, installation.environment, LONGEST_MS);
}, LONGEST_MS);

const order = (storeId: string, index: number) =>
  orderEvent(`o${index}`, {
    storeId,
    data: {
      status: 'delivered',
      items: [
        { product_id: 'p1', name: 'Pastel', quantity: 3, unit_price: '13.30', total: '39.90' },
      ],
      customer: { id: 'c1', name: 'Consumidor Final' },
      created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
    },
  });

const left = () => db.collection(COLLECTIONS.order).countDocuments({ store_id: 'large' });

it(
  'neighbours on the same partition stay as fresh as before, and the next command completes the erasure',
  { timeout: LONGEST_MS },
  async () => {
    const fault = `a store of ${ORDERS} orders is erased`;
    await staysFresh(fault, [installation, db, order], async () => {
      const began = performance.now();
      const killed = startCommand(installation.env, ERASE);
      await eventually('half of it is gone', async () => (await left()) < ORDERS / 2, LONGEST_MS);
      killed.process.kill('SIGKILL');
      await killed.result;
      const { code, stderr } = await runCommand(installation.env, ERASE);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      note({
        fault: `${fault}: nothing of it is stored, one kill included`,
        recoveriesMs: [performance.now() - began],
        boundMs: LONGEST_MS,
        events: ORDERS,
      });
    });
    expect(await left()).toBe(0);
    const verified = await runCommand(installation.env, 'verify');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);
  },
);
