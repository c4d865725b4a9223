import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { createLogger } from '#shared/logging.ts';
import {
  CATEGORY_PRODUCTS,
  COLLECTIONS,
  type OptionGroupDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { group, publishRecords, sharedGroupCatalogue } from '#test/shared-groups-catalogue.ts';

const CHANGES = 20;

const installation = useInstallation({ partitions: 1 });
let projector: RunningProjector;
beforeAll(async () => {
  projector = await startProjector(installation.config, createLogger('test', 'silent'));
});
afterAll(async () => {
  await projector?.stop();
});

/** Every document of the catalogue but the group that changes. */
async function others(db: Db): Promise<unknown[]> {
  const found = await Promise.all(
    [COLLECTIONS.product, COLLECTIONS.category, COLLECTIONS.option_group, CATEGORY_PRODUCTS].map((name) =>
      db
        .collection<{ _id: string }>(name)
        .find({ _id: { $ne: 's1/common' } }, { sort: { _id: 1 } })
        .toArray(),
    ),
  );
  return found.flat();
}

it('writes the group alone when one changes that hundreds of products name', async () => {
  await publishRecords(installation, 's1', sharedGroupCatalogue(300), 0);
  await caughtUp(installation);
  const db = await readModels(installation);
  const before = await others(db);
  const stamp = () => db.collection<Stamp>(STAMPS).findOne({ _id: 's1' });
  const { product, category, layout, position = 0, option_group: groups = 0 } = (await stamp()) ?? {};
  expect(before.length).toBeGreaterThan(400);

  for (let change = 1; change <= CHANGES; change += 1) {
    await publishRecords(installation, 's1', [group('common', 20, 400 + change)], 0);
  }
  await caughtUp(installation);
  expect(await others(db)).toEqual(before);
  expect(await stamp()).toMatchObject({
    product,
    category,
    layout,
    option_group: groups + CHANGES,
    // One for each change, and none for the products that name the group.
    position: position + CHANGES,
  });
  const common = await db.collection<OptionGroupDocument>(COLLECTIONS.option_group).findOne({ _id: 's1/common' });
  expect(common?.summary).toContain(`"${((400 + CHANGES) / 100).toFixed(2)}"`);
});
