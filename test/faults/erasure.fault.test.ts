import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import { COLLECTIONS, ERASURES, type OrderDocument } from '#shared/read-models/collections.ts';
import type { Erasure } from '#shared/read-models/erasures.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';
import type { StreamEvent } from '#test/streams.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { staysFresh } from './freshness.ts';
import { note } from './results.ts';

const ORDERS = 200_000;
const PUBLISHED_AT_ONCE = 20_000;
const NAME = 'Consumidor Final';
const WATCHED_MS = 20_000;
/** For a busy machine. */
const MAX_MS = 2_700_000;

describe(`a customer whom ${ORDERS} orders name`, () => {
  // One partition: a delay in it delays every other store.
  const service = useQueryService({ partitions: 1 });
  let projector: ServiceProcess;
  let token: string;
  let db: Db;
  let sequence = 0;
  beforeAll(async () => {
    token = await service.tokenOf({ clientId: 'reader', storeId: 'large' });
    await service.stopProjector();
    await startProjector();
    db = await readModels(service.installation);
    for (let start = 0; start < ORDERS; start += PUBLISHED_AT_ONCE) {
      const orders = Array.from({ length: PUBLISHED_AT_ONCE }, (_, index) =>
        order('large', start + index),
      );
      await service.installation.publish(orders);
    }
    await caughtUp(service.installation, service.installation.environment, MAX_MS);
  }, MAX_MS);
  afterAll(async () => {
    projector?.kill('SIGTERM');
    await projector?.ended;
  });

  const startProjector = async () => {
    projector = startService('projector', service.installation.env);
    await projector.logged(({ msg }) => msg === 'projector started');
  };
  const event = (
    entity: string,
    storeId: string,
    subject: string,
    data: object | null,
  ): StreamEvent => {
    sequence += 1;
    const action = data === null ? ('deleted' as const) : ('changed' as const);
    return { entity, storeId, subject, sequence, action, ...(data === null ? {} : { data }) };
  };
  const order = (storeId: string, index: number) =>
    event('order', storeId, `o${index}`, {
      status: 'delivered',
      order_type: 'takeout',
      total: '39.90',
      items: [
        { product_id: 'p1', name: 'Pastel', quantity: 3, unit_price: '13.30', total: '39.90' },
      ],
      payments: [{ method: 'pix', type: 'prepaid', amount: '39.90' }],
      customer: { id: 'c1', name: NAME, phone: '11 99999-0000', document: '00000000000' },
      created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
    });
  const erasures = () => db.collection<Erasure>(ERASURES).find().toArray();
  const stillStored = () =>
    db.collection<OrderDocument>(COLLECTIONS.order).countDocuments({
      store_id: 'large',
      whole: { $regex: NAME },
    });

  /** Pages from the beginning, the middle and the end of the store's orders. */
  async function answers(): Promise<string[]> {
    const last = ORDERS / 100;
    const pages = [1, last / 2, last - 1, last].flatMap((page) => [
      `/api/order/list?page_size=100&page=${page}`,
      `/api/customer/order-list/?customer_id=c1&page_size=100&page=${page}`,
    ]);
    const details = [0, ORDERS / 2, ORDERS - 1].map(
      (index) => `/api/order/details/?order_id=o${index}`,
    );
    const found: string[] = [];
    for (const path of [...pages, ...details]) {
      const answer = await service.api.get(path, token);
      expect(answer.status, path).toBe(200);
      found.push(answer.text);
    }
    return found;
  }
  const naming = async () => (await answers()).filter((text) => text.includes(NAME)).length;

  it(
    'is in no answer after the deletion, and neighbours on the same partition are as fresh as before',
    { timeout: MAX_MS },
    async () => {
      const { installation } = service;
      expect(await naming()).toBe((await answers()).length);
      const fault = `${ORDERS} orders name a deleted customer`;
      let [deletedAt, heldAfterMs] = [0, 0];
      await staysFresh(fault, [installation, db, order], async () => {
        deletedAt = performance.now();
        await installation.publish([event('customer', 'large', 'c1', null)]);
        await eventually('the erasure has begun', async () => (await erasures()).length === 1);
        heldAfterMs = performance.now() - deletedAt;
        expect(await naming()).toBe(0);
        await sleep(WATCHED_MS);
      });
      expect(await naming()).toBe(0);

      const { done } = (await erasures())[0] ?? {};
      projector.kill('SIGKILL');
      await projector.ended;
      await startProjector();
      await eventually(
        'the erasure continues from where it was',
        async () => {
          expect(projector.process.exitCode).toBeNull();
          const [erasure] = await erasures();
          return erasure === undefined || (erasure.done?.after ?? '') > (done?.after ?? '');
        },
        MAX_MS,
      );
      expect(await naming()).toBe(0);
      await erased(installation, installation.environment, MAX_MS);
      const erasedAfterMs = performance.now() - deletedAt;
      expect(await stillStored()).toBe(0);
      expect(await naming()).toBe(0);
      const verified = await runCommand(installation.env, 'verify');
      expect(verified.stdout + verified.stderr).toMatch(/no differences/);

      note({
        fault: `${fault}: no answer names them`,
        recoveriesMs: [heldAfterMs],
        boundMs: 5_000,
        events: 1,
      });
      note({
        fault: `${fault}: nothing of them is stored, one kill included`,
        recoveriesMs: [erasedAfterMs],
        boundMs: MAX_MS,
        events: ORDERS,
      });
      expect(heldAfterMs).toBeLessThan(5_000);
    },
  );
});
