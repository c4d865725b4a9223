/**
 * Erases a large store while its neighbours on the same partition continue, and kills the command
 * in the middle.
 */
import type { Db } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { runCommand, startCommand } from '../services/admin/run-command.ts';
import { namingOrder, staysFresh } from './freshness.ts';
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
  await installation.publish(times(ORDERS, (index) => namingOrder('large', index)));
  await caughtUp(installation, installation.environment, LONGEST_MS);
}, LONGEST_MS);

const left = () => db.collection(COLLECTIONS.order).countDocuments({ store_id: 'large' });

it(
  'neighbours on the same partition stay as fresh as before, and the next command completes the erasure',
  { timeout: LONGEST_MS },
  async () => {
    const fault = `a store of ${ORDERS} orders is erased`;
    await staysFresh(fault, [installation, db, namingOrder], async () => {
      const began = performance.now();
      const killed = startCommand(installation.env, ERASE);
      await eventually('half of it is gone', async () => (await left()) < ORDERS / 2, LONGEST_MS);
      killed.process.kill('SIGKILL');
      await killed.result;
      const { code, stderr } = await runCommand(installation.env, ERASE);
      expect(code, stderr).toBe(0);
      const what = `${fault}: nothing of it is stored, one kill included`;
      note(what, [performance.now() - began], LONGEST_MS, ORDERS);
    });
    expect(await left()).toBe(0);
    const verified = await runCommand(installation.env, 'verify');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);
  },
);
