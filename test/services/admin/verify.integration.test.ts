import { beforeAll, describe, expect, it } from 'vitest';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  RANK_NODES,
  stampsIn,
} from '#shared/read-models/collections.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { useInstallation } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { miscount } from '#test/miscount.ts';
import { applyAll } from '#test/projectors.ts';
import { readModels } from '#test/read-models.ts';
import { expectRefused, runCommand, runJson, type VerifyAnswer } from './run-command.ts';

const ORDERS = 1_200;

describe('verify', () => {
  const installation = useInstallation();
  beforeAll(async () => {
    await installation.publish(
      Array.from({ length: ORDERS }, (_, index) => {
        const created_at = new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString();
        return orderEvent(`o${index}`, {
          storeId: index % 6 === 0 ? 's2' : 's1',
          data: { created_at },
        });
      }),
    );
    await applyAll(installation);
  });

  it('names differences and fails, and repairs them on request', async () => {
    const db = await readModels(installation);
    const nodes = db.collection<RankNode>(RANK_NODES);
    expect((await nodes.findOne({ _id: 'order/s1/0/' }))?.boundaries.length).toBeGreaterThan(1);
    await miscount(nodes, /^order\/s1\/0\//);
    await stampsIn(db).updateOne({ _id: 's2' }, { $inc: { 'counts.order': -1 } });

    const failed = await runCommand(installation.env, 'verify --json');
    expect(failed.code).toBe(1);
    const { differences } = JSON.parse(failed.stdout) as VerifyAnswer;
    expect(differences.map(({ store, what }) => `${store}: ${what}`)).toEqual([
      's1: order tree: total of leaf 0',
      's1: order tree: counts of leaf 0',
      's2: number of orders',
    ]);
    const table = await runCommand(installation.env, 'verify --store s2');
    expect(table).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/s2 +number of orders +199 +200/),
    });

    const repaired = await runJson<VerifyAnswer>(installation.env, 'verify --repair');
    expect(repaired).toMatchObject({ stores: 2, repaired: 2, differences: [] });
    expect(await runJson<VerifyAnswer>(installation.env, 'verify')).toMatchObject({
      repaired: 0,
      differences: [],
    });
  });

  it('repairs the product counts of a category', async () => {
    const product = (subject: string, category_id: string | null) => ({
      entity: 'product',
      storeId: 's3',
      subject,
      sequence: 1,
      data: { name: 'A', price: '1.00', position: 1, active: true, category_id },
    });
    await installation.publish([product('p1', 'k1'), product('p2', 'k1'), product('p3', null)]);
    await applyAll(installation);
    const db = await readModels(installation);
    const stamp = () => stampsIn(db).findOne({ _id: 's3' });
    const before = await stamp();
    const counts = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
    await counts.updateOne({ _id: 's3/k1' }, { $inc: { products: 1 } });
    await counts.deleteOne({ _id: 's3/' });
    await counts.insertOne({ _id: 's3/k2', store_id: 's3', products: 4 });

    const { stdout } = await runCommand(installation.env, 'verify --json --store s3');
    const { differences } = JSON.parse(stdout) as VerifyAnswer;
    expect(
      differences
        .map(({ what, stored, counted }) => `${what}: ${stored}, not ${counted}`)
        .toSorted(),
    ).toEqual([
      'number of products of category k1: 3, not 2',
      'number of products of category k2: 4, not 0',
      'number of products without a category: 0, not 1',
    ]);
    const repaired = await runJson<VerifyAnswer>(installation.env, 'verify --repair --store s3');
    expect(repaired).toMatchObject({ repaired: 1, differences: [] });
    const right = await counts.find({ store_id: 's3' }).sort({ _id: 1 }).toArray();
    expect(right.map(({ _id, products }) => [_id, products])).toEqual([
      ['s3/', 1],
      ['s3/k1', 2],
    ]);
    // Services no longer use cached wrong counts.
    const after = await stamp();
    expect(after?.layout).not.toBe(before?.layout);
    expect(after?.product).toBeGreaterThan(before?.product ?? 0);
  });

  it('reports an unknown store', async () => {
    const running = runCommand(installation.env, 'verify --store s9');
    await expectRefused(running, 'store-data: no record of a store s9 has arrived\n');
  });
});
