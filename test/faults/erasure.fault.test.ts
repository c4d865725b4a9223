import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COLLECTIONS, ERASURES } from '#shared/read-models/collections.ts';
import type { Erasure } from '#shared/read-models/erasures.ts';
import { eventually } from '#test/eventually.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { killAll, type ServiceProcess, startService } from '#test/service-process.ts';
import { times } from '#test/times.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { NAME, namingOrder, staysFresh } from './freshness.ts';
import { note } from './results.ts';

const ORDERS = 200_000;
const PUBLISHED_AT_ONCE = 20_000;
const WATCHED_MS = 20_000;
/** For a busy machine. */
const MAX_MS = 2_700_000;
const BOUND_MS = 5_000;

// One partition: a delay in it delays every other store.
const service = useQueryService({ partitions: 1 });
let projector: ServiceProcess;
let token: string;
let db: Db;

const startProjector = async () => {
  projector = startService('projector', service.installation.env);
  await projector.logged(({ msg }) => msg === 'projector started');
};
beforeAll(async () => {
  token = await service.tokenFor('large');
  await service.stopProjector();
  await startProjector();
  const { publish, environment } = service.installation;
  db = await readModels(service.installation);
  for (let start = 0; start < ORDERS; start += PUBLISHED_AT_ONCE)
    await publish(times(PUBLISHED_AT_ONCE, (index) => namingOrder('large', start + index)));
  await caughtUp(service.installation, environment, MAX_MS);
}, MAX_MS);
afterAll(() => killAll([projector]));

/** Pages from the beginning, the middle and the end of the store's orders. */
const LAST = ORDERS / 100;
const PATHS = [
  ...[1, LAST / 2, LAST - 1, LAST].flatMap((page) => [
    `/api/order/list?page_size=100&page=${page}`,
    `/api/customer/order-list/?customer_id=c1&page_size=100&page=${page}`,
  ]),
  ...[0, ORDERS / 2, ORDERS - 1].map((index) => `/api/order/details/?order_id=o${index}`),
];

/** How many answers name the customer. */
async function naming(): Promise<number> {
  const answers = await Promise.all(PATHS.map((path) => service.api.get(path, token)));
  for (const { status } of answers) expect(status).toBe(200);
  return answers.filter(({ text }) => text.includes(NAME)).length;
}

it(
  `a customer whom ${ORDERS} orders name is in no answer after the deletion, and neighbours on the same partition are as fresh as before`,
  { timeout: MAX_MS },
  async () => {
    const { installation } = service;
    const erasures = db.collection<Erasure>(ERASURES);
    expect(await naming()).toBe(PATHS.length);
    const fault = `${ORDERS} orders name a deleted customer`;
    let [deletedAt, heldAfterMs] = [0, 0];
    await staysFresh(fault, [installation, db, namingOrder], async () => {
      deletedAt = performance.now();
      const customer = {
        entity: 'customer',
        storeId: 'large',
        subject: 'c1',
        sequence: 1,
      } as const;
      await installation.publish([{ ...customer, action: 'deleted' }]);
      await eventually(
        'the erasure has begun',
        async () => (await erasures.countDocuments()) === 1,
      );
      heldAfterMs = performance.now() - deletedAt;
      expect(await naming()).toBe(0);
      await sleep(WATCHED_MS);
    });
    expect(await naming()).toBe(0);

    const before = await erasures.findOne();
    await killAll([projector]);
    await startProjector();
    const continues = async () => {
      expect(projector.process.exitCode).toBeNull();
      const now = await erasures.findOne();
      return now === null || (now.done?.after ?? '') > (before?.done?.after ?? '');
    };
    await eventually('the erasure continues from where it was', continues, MAX_MS);
    expect(await naming()).toBe(0);
    await erased(installation, installation.environment, MAX_MS);
    const erasedAfterMs = performance.now() - deletedAt;
    const stored = { store_id: 'large', whole: { $regex: NAME } };
    expect(await db.collection(COLLECTIONS.order).countDocuments(stored)).toBe(0);
    expect(await naming()).toBe(0);
    const verified = await runCommand(installation.env, 'verify');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);

    note(`${fault}: no answer names them`, [heldAfterMs], BOUND_MS, 1);
    const what = `${fault}: nothing of them is stored, one kill included`;
    note(what, [erasedAfterMs], MAX_MS, ORDERS);
    expect(heldAfterMs).toBeLessThan(BOUND_MS);
  },
);
