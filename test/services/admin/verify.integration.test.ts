import { describe, expect, it } from 'vitest';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  stampsIn,
} from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { MINIMAL } from '#test/changes.ts';
import { applyAll } from '#test/projectors.ts';
import { readModels } from '#test/read-models.ts';
import { expectRefused, runCommand, runJson, type VerifyAnswer } from './run-command.ts';

describe('verify', () => {
  const installation = useInstallation();
  it('repairs the product counts of a category', async () => {
    const product = (subject: string, category_id: string | null) => {
      const data = { ...MINIMAL.product, category_id };
      return { entity: 'product', storeId: 's3', subject, sequence: 1, data };
    };
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
