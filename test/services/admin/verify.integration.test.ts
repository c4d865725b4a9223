/**
 * `verify` repairs product counts, finds feed positions that followers would miss, and gives their
 * records new positions.
 */
import type { Db } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  COLLECTIONS,
  ERASURES,
  type OrderDocument,
  type ReadModelDocument,
  stampsIn,
  tombstonesIn,
} from '#shared/read-models/collections.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import { aCustomer, anOrder, aProduct, aStore, gone } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { readModels, stampOf } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { expectRefused, runCommand, type VerifyAnswer } from './run-command.ts';

interface Changes {
  results: { id: string }[];
  next: string;
}

const service = useQueryService();
let db: Db;
beforeAll(async () => {
  db = await readModels(service.installation);
});

/** What a store's follower gets: from the beginning, or after an earlier answer. */
async function changes(kind: string, storeId: string, before?: Changes): Promise<Changes> {
  const token = await service.tokenFor(storeId);
  const after = before === undefined ? '' : `&after=${before.next}`;
  const path = `/api/${kind}/changes?page_size=100${after}`;
  const { status, json, text } = await service.api.get(path, token);
  expect(status, text).toBe(200);
  return json as Changes;
}

const records = (kind: keyof typeof COLLECTIONS) =>
  db.collection<ReadModelDocument>(COLLECTIONS[kind]);
const place = async (kind: keyof typeof COLLECTIONS, id: string, feed_position: unknown) => {
  await records(kind).updateOne({ _id: id }, [
    feed_position === undefined ? { $unset: 'feed_position' } : { $set: { feed_position } },
  ]);
};
const positionOf = async (id: string) =>
  (await records('order').findOne({ _id: id }))?.feed_position ?? 0;
const verify = async (storeId: string, ...flags: string[]) => {
  const args = ['verify', '--json', '-s', storeId, ...flags];
  const { code, stdout } = await runCommand(service.installation.env, args);
  return { code, ...(JSON.parse(stdout) as VerifyAnswer) };
};
const differences = (answer: VerifyAnswer) =>
  answer.differences.map(({ what, stored, counted }) => `${what}: ${stored}, not ${counted}`);
const told = ({ results }: Changes) => results.map(({ id }) => id).toSorted();

it('`verify` names each kind of damage of feed positions, and its repair gives earlier followers the damaged records again', async () => {
  const customers = ['c1', 'c2', 'c3'].map((id) => aCustomer(id));
  const orders = times(9, (index) => anOrder(`o${index}`));
  const deleted = orders.slice(0, 2).map(gone);
  await service.apply([aStore(), ...customers, ...orders, ...deleted]);
  expect(await verify('s1')).toMatchObject({ code: 0, differences: [] });
  const [beforeOrders, beforeCustomers] = [
    await changes('order', 's1'),
    await changes('customer', 's1'),
  ];

  const before = await stampOf(db);
  await place('store', 's1/s1', 0);
  await place('order', 's1/o2', 0);
  await place('order', 's1/o3', undefined);
  await place('order', 's1/o4', 'one');
  await place('order', 's1/o5', 2.5);
  // A position of another kind of record, and one shared by two orders.
  await place('customer', 's1/c1', await positionOf('s1/o6'));
  await place('order', 's1/o7', await positionOf('s1/o8'));
  const tombstones = tombstonesIn(db);
  await tombstones.updateOne({ _id: 'order/s1/o0' }, { $set: { feed_position: 0 } });

  const found = await verify('s1');
  expect(found.code).toBe(1);
  expect(differences(found)).toEqual(
    expect.arrayContaining([
      'stores without a feed position: 1, not 0',
      'orders without a feed position: 4, not 0',
      'orders that share a feed position: 3, not 0',
      'customers that share a feed position: 1, not 0',
      'tombstones of orders without a feed position: 1, not 0',
    ]),
  );
  expect(told(await changes('order', 's1', beforeOrders))).toEqual([]);

  expect(await verify('s1', '--repair')).toMatchObject({ code: 0, repaired: 1, differences: [] });
  expect(await verify('s1')).toMatchObject({ code: 0, differences: [] });
  const again = await changes('order', 's1', beforeOrders);
  expect(told(again)).toEqual(['o0', 'o2', 'o3', 'o4', 'o5', 'o6', 'o7', 'o8']);
  expect(again.results.find(({ id }) => id === 'o0')).toMatchObject({ deleted: true });
  expect(told(await changes('customer', 's1', beforeCustomers))).toEqual(['c1']);
  expect(told(await changes('order', 's1', again))).toEqual([]);

  const after = await stampOf(db);
  expect(after.position).toBe((before.position ?? 0) + 10);
  // A new epoch: later positions differ from those of a restored database or of the projector that
  // assigned the last one.
  const [last, ...others] = epochsIn(after.epochs).toReversed();
  expect(last?.from).toBe((before.position ?? 0) + 1);
  expect(others.toReversed()).toEqual(epochsIn(before.epochs));
  await service.apply([anOrder('o2')]);
  expect(told(await changes('order', 's1', again))).toEqual(['o2']);
});

it('`verify` repairs the product counts of a category', async () => {
  const products = [
    ['p1', 'k1'],
    ['p2', 'k1'],
    ['p3', null],
  ] as const;
  await service.apply(products.map(([id, category_id]) => aProduct(id, { category_id }, 's3')));
  const before = await stampOf(db, 's3');
  const counts = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
  await counts.updateOne({ _id: 's3/k1' }, { $inc: { products: 1 } });
  await counts.deleteOne({ _id: 's3/' });
  await counts.insertOne({ _id: 's3/k2', store_id: 's3', products: 4 });

  expect(differences(await verify('s3')).toSorted()).toEqual([
    'number of products of category k1: 3, not 2',
    'number of products of category k2: 4, not 0',
    'number of products without a category: 0, not 1',
  ]);
  expect(await verify('s3', '--repair')).toMatchObject({ repaired: 1, differences: [] });
  const right = await counts.find({ store_id: 's3' }).sort({ _id: 1 }).toArray();
  expect(right).toMatchObject([
    { _id: 's3/', products: 1 },
    { _id: 's3/k1', products: 2 },
  ]);
  // Services no longer use cached wrong counts.
  const after = await stampOf(db, 's3');
  expect(after.layout).not.toBe(before.layout);
  expect(after.product).toBeGreaterThan(before.product ?? 0);
});

it('`verify` reports an unknown store', async () => {
  const running = runCommand(service.installation.env, 'verify --store s9');
  await expectRefused(running, 'store-data: no record of a store s9 has arrived\n');
});

it('a repair shows nothing of a customer during the erasure', async () => {
  const customer = { id: 'c1', name: 'Ana', phone: '+5511999990000' };
  await service.apply(['o1', 'o2', 'o3', 'o4'].map((id) => anOrder(id, { customer }, 's4')));
  const before = await changes('order', 's4');
  // The projector leaves this state for a customer in many orders until their pieces are erased.
  await service.stopProjector();
  const position = await positionOf('s4/o3');
  await db.collection(ERASURES).insertOne({
    _id: 's4/c1' as never,
    store_id: 's4',
    position,
    partition: 0,
    began_at: new Date(),
  });
  await stampsIn(db).updateOne({ _id: 's4' }, { $set: { erasing: true } });
  await place('order', 's4/o1', 0);
  await place('order', 's4/o2', position);
  await verify('s4', '--repair');
  const answer = await changes('order', 's4', before);
  expect(told(answer)).toEqual(['o1', 'o2', 'o3']);
  for (const one of answer.results)
    expect(one).toMatchObject({ record: { customer: { name: null } } });
  const ofStore = db.collection<OrderDocument>(COLLECTIONS.order).find({ store_id: 's4' });
  const stored = await ofStore.sort({ _id: 1 }).toArray();
  expect(stored.map(({ whole }) => whole.includes('+5511999990000'))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});
