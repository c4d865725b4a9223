import { afterAll, beforeAll, expect, it } from 'vitest';
import { Binary, type Db, type Document } from 'mongodb';
import { verifyTree } from '#shared/projection/verify/tree.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { RANK_NODES, STAMPS, stampsIn } from '#shared/read-models/collections.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { aCustomer, anOrder, aStore, gone } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels, stampOf } from '#test/read-models.ts';
import { applyEvents, differencesIn, repair } from '#test/slices.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { times } from '#test/times.ts';
import { words } from '#test/words.ts';

afterAll(withSmallTrees(4, 3));
const installation = useInstallation();
let db: Db;
beforeAll(async () => {
  db = await emptyReadModels(installation);
  const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 0, minute)).toISOString();
  // Enough for three levels.
  await applyEvents(db, [
    aStore(),
    ...times(24, (id) => aCustomer(`c${id}`, { name: `${id % 9} nome ${id}`, created_at: at(id) })),
    ...times(24, (id) =>
      anOrder(`o${id}`, { status: id % 3 === 0 ? 'ready' : 'pending', created_at: at(id) }),
    ),
    gone(anOrder('o23')),
  ]);
});

interface Damage {
  field: string;
  /** `undefined` removes the field. */
  value: unknown;
  former: unknown;
}

/** Wrong values in place of one. */
function wrongFor(value: unknown): unknown[] {
  if (typeof value === 'string') return [`${value}\u0001`, value.slice(0, -1), 7.5];
  if (typeof value === 'number') return [value + 1, -1, 'text'];
  if (value instanceof Binary) {
    const bytes = Buffer.from(value.buffer);
    const flipped = Buffer.from(bytes);
    flipped[0] = (flipped[0] ?? 0) ^ 1;
    return [flipped, bytes.subarray(0, -1), Buffer.concat([bytes, bytes])].map(
      (wrong) => new Binary(wrong),
    );
  }
  if (Array.isArray(value)) {
    const items = value as unknown[];
    return [items.slice(0, -1), [...items, 'zzzz'], items.toReversed(), [7, ...items.slice(1)]];
  }
  return [null];
}

/** Every damage of a document, field by field at any depth. */
function* damagesOf(document: Document, path = ''): Generator<Damage> {
  for (const [name, former] of Object.entries(document) as [string, unknown][]) {
    const field = path + name;
    if (field === '_id') continue;
    for (const value of [undefined, ...wrongFor(former)]) yield { field, value, former };
    if (former?.constructor !== Object) continue;
    yield { field: `${field}.unknown`, value: 1, former: undefined };
    yield* damagesOf(former, `${field}.`);
  }
  if (path === '') yield { field: 'unknown', value: 1, former: undefined };
}

/** Harmless changes: counters and positions may be higher, and a version may be any text. */
function isHarmless({ field, value, former }: Damage): boolean {
  return (
    (/^(?:position|positions\.\w+|store|order|customer)$/.test(field) &&
      Number(value) > Number(former)) ||
    // The version only has to differ.
    (/version$|layout$/.test(field) && typeof value === 'string') ||
    (field === 'layout' && value === undefined) ||
    (field.startsWith('slice_') && Number.isSafeInteger(value))
  );
}

/** The number of differences in trees, a part of the verification. */
const inTrees = (): Promise<number> =>
  installation.mongodb.withSession(async (session) => {
    const stamp = await stampOf(db);
    let differences = 0;
    for (const tree of [RANK_TREES.order, RANK_TREES.customer]) {
      await verifyTree({ db, session, tree, storeId: 's1' }, stamp, (_what, stored, counted) => {
        if (stored !== counted) differences += 1;
      });
    }
    return differences;
  });

/** A node that is not the first of its level, the texts of such a leaf, and the stamp. */
const DAMAGED = [
  [RANK_NODES, { _id: /^order\/s1\/0\/./ }],
  [RANK_NODES, { _id: /^order\/s1\/1\// }],
  [RANK_NODES, { _id: /^customer\/s1\/0\/./ }],
  [RANK_NODES, { _id: /^customer\/s1\/leaf\/./ }],
  [STAMPS, { _id: 's1' as never }],
] as const;

it('every damage of a node, a text or a stamp is found and repaired', async () => {
  const { store, order, customer } = await stampOf(db);
  await repair(db);
  // The lowest possible values: a repair moves them to unused ones.
  const others = Object.fromEntries(
    ENTITY_NAMES.filter((name) => !['store', 'order', 'customer'].includes(name)).map((name) => [
      name,
      '' as const,
    ]),
  );
  const counters = () =>
    db.collection(STAMPS).updateOne({}, { $set: { store, order, customer }, $unset: others });
  await counters();
  expect(await differencesIn(db)).toEqual([]);
  for (const [name, filter] of DAMAGED) {
    const collection = db.collection(name);
    const found = await collection.findOne(filter);
    if (found === null) throw new Error('nothing to damage');
    const mended = new Set<string>();
    for (const damage of damagesOf(found)) {
      const { field, value } = damage;
      if (isHarmless(damage) || /ranks\.customer\w*\./.test(field)) continue;
      const sound = (await collection.findOne({ _id: found._id })) ?? {};
      const update =
        value === undefined ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
      const { modifiedCount } = await collection.updateOne({ _id: found._id }, update);
      // A repair omits unknown fields.
      if (modifiedCount === 0) continue;
      const label = `${String(found._id)}: ${field} is ${JSON.stringify(value)}`;
      const count = name === RANK_NODES ? await inTrees() : (await differencesIn(db)).length;
      expect(count, label).toBeGreaterThan(0);
      // One repair per field; its other damages only have to be found.
      const [group = ''] = field.split('.');
      if (mended.has(group)) {
        await collection.replaceOne({ _id: found._id }, sound);
        continue;
      }
      mended.add(group);
      await repair(db);
      expect(await differencesIn(db), label).toEqual([]);
      await counters();
    }
    expect(mended.size).toBeGreaterThan(3);
    expect(await differencesIn(db)).toEqual([]);
  }
});

it.each(words('order/s1/9/ order/s1/leaf/a order/s1/00/ review/s1/0/ customer/s1/x order/s1/'))(
  'a document that belongs to no tree is found and removed: %s',
  async (_id) => {
    const nodes = db.collection<{ _id: string; store_id: string }>(RANK_NODES);
    await nodes.insertOne({ _id, store_id: _id === 'order/s1/9/' ? 's2' : 's1' });
    expect((await differencesIn(db)).map(({ what }) => what)).toEqual([
      expect.stringMatching(/ tree: nodes of levels that it does not have$/),
    ]);
    await repair(db);
    expect(await differencesIn(db)).toEqual([]);
    expect(await nodes.findOne({ _id })).toBeNull();
  },
);

it('a missing stamp is rebuilt', async () => {
  await stampsIn(db).deleteOne({ _id: 's1' });
  expect((await differencesIn(db)).map(({ what }) => what)).toContain('the stamp');
  await repair(db);
  expect(await differencesIn(db)).toEqual([]);
});
