import { afterAll, beforeAll, expect, it } from 'vitest';
import { Binary, type ClientSession, type Db, type Document } from 'mongodb';
import { type FindErased, findErasedIn } from '#shared/access/erased-stores.ts';
import { repairStore, type Difference, verifyStore } from '#shared/projection/verify/store.ts';
import { verifyTree } from '#shared/projection/verify/tree.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { RANK_NODES, STAMPS, stampsIn } from '#shared/read-models/collections.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { useQueryService } from '#test/hooks.ts';
import { type TestChange } from '#test/query-service.ts';
import { readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const PATHS = [
  '/api/store/info/',
  ...[1, 3, 5].map((page) => `/api/order/list?page_size=5&page=${page}`),
  '/api/order/list?status=ready&page_size=3&page=2',
  '/api/order/list?created_from=2026-02-28T21:10:00&page_size=3&page=2',
  ...[1, 4].map((page) => `/api/customer/list?page_size=7&page=${page}`),
  '/api/customer/list?search=nome%201',
  '/api/customer/list?created_from=2026-02-28T21:10:00&page_size=3&page=2',
];

const restoreTrees = withSmallTrees(4, 3);
// Long timeouts, so that each answer can be compared on a busy machine.
const service = useQueryService({
  settings: { MONGODB_READ_TIMEOUT_MS: '60000', REDIS_COMMAND_TIMEOUT_MS: '10000' },
});
let token: string;
let db: Db;
const findErased: FindErased = (storeIds) => {
  const { databases, environment } = service.installation;
  return findErasedIn(databases.control, environment)(storeIds);
};
beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'reader' });
  await service.apply(records());
  db = await readModels(service.installation);
  await service.stopProjector();
});
afterAll(async () => {
  restoreTrees();
});

function records(): TestChange[] {
  const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 0, minute)).toISOString();
  const one = (entity: TestChange['entity'], id: string, data?: object): TestChange => ({
    entity,
    storeId: 's1',
    id,
    ...(data === undefined ? {} : { data }),
  });
  // Enough for three levels.
  const ids = Array.from({ length: 24 }, (_, id) => id);
  return [
    one('store', 's1', { name: 'Bela', timezone_offset: '-03:00', created_at: at(0) }),
    ...ids.map((id) =>
      one('customer', `c${id}`, { name: `${id % 9} nome ${id}`, created_at: at(id) }),
    ),
    ...ids.map((id) =>
      one('order', `o${id}`, {
        status: id % 3 === 0 ? 'ready' : 'pending',
        order_type: 'delivery',
        total: '1.00',
        created_at: at(id),
      }),
    ),
    one('order', 'o23'),
  ];
}

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

/** Verifies in a snapshot with the last write. */
async function inSnapshot<T>(look: (session: ClientSession) => Promise<T>): Promise<T> {
  // Snapshots with this write include the earlier ones.
  const marks = db.collection<{ _id: string; written: number }>('marks');
  const written = Date.now() + Math.random();
  await marks.updateOne({ _id: 'last' }, { $set: { written } }, { upsert: true });
  // Hundreds of times: without the pauses of `eventually`.
  for (let shown: number | undefined; shown !== written;) {
    const [mark] = await marks.find({}, { readConcern: 'snapshot' }).toArray();
    shown = mark?.written;
  }
  return service.installation.mongodb.withSession({ snapshot: true }, look);
}

const verified = (): Promise<Difference[]> =>
  inSnapshot((session) => verifyStore(forSnapshots(db), session, 's1'));

/** The number of differences in trees, a part of the verification. */
const inTrees = (): Promise<number> =>
  inSnapshot(async (session) => {
    const read = forSnapshots(db);
    const stamp = await stampsIn(read).findOne({ _id: 's1' }, { session });
    let differences = 0;
    for (const tree of [RANK_TREES.order, RANK_TREES.customer]) {
      await verifyTree(
        { db: read, session, tree, storeId: 's1' },
        stamp,
        (_what, stored, counted) => {
          if (stored !== counted) differences += 1;
        },
      );
    }
    return differences;
  });

const answers = () =>
  Promise.all(
    PATHS.map(async (path) => {
      const { status, text } = await service.api.get(path, token);
      return { path, status, text };
    }),
  );

/** A node that is not the first of its level, the texts of such a leaf, and the stamp. */
const DAMAGED = [
  [RANK_NODES, { _id: /^order\/s1\/0\/./ }],
  [RANK_NODES, { _id: /^order\/s1\/1\// }],
  [RANK_NODES, { _id: /^customer\/s1\/0\/./ }],
  [RANK_NODES, { _id: /^customer\/s1\/leaf\/./ }],
  [STAMPS, { _id: 's1' as never }],
] as const;

it(
  'every damage of a node, a text or a stamp is found and repaired',
  { timeout: 600_000 },
  async () => {
    const { store, order, customer } = (await stampsIn(db).findOne()) ?? {};
    await repairStore(db, 's1', findErased);
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
    expect(await verified()).toEqual([]);
    const expected = await answers();
    expect(expected.filter(({ status }) => status !== 200)).toEqual([]);
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
        const count = name === RANK_NODES ? await inTrees() : (await verified()).length;
        expect(count, label).toBeGreaterThan(0);
        // One repair per field; its other damages only have to be found.
        const [group = ''] = field.split('.');
        if (mended.has(group)) {
          await collection.replaceOne({ _id: found._id }, sound);
          continue;
        }
        mended.add(group);
        await repairStore(db, 's1', findErased);
        expect(await verified(), label).toEqual([]);
        expect(await answers(), label).toEqual(expected);
        await counters();
      }
      expect(mended.size).toBeGreaterThan(3);
      expect(await verified()).toEqual([]);
      expect(await answers()).toEqual(expected);
    }
  },
);

it('documents that belong to no tree are found and removed', async () => {
  const nodes = db.collection<{ _id: string; store_id: string }>(RANK_NODES);
  for (const _id of [
    'order/s1/9/',
    'order/s1/leaf/a',
    'order/s1/00/',
    'review/s1/0/',
    'customer/s1/x',
    'order/s1/',
  ]) {
    await nodes.insertOne({ _id, store_id: _id === 'order/s1/9/' ? 's2' : 's1' });
    expect((await verified()).map(({ what }) => what)).toEqual([
      expect.stringMatching(/ tree: nodes of levels that it does not have$/),
    ]);
    await repairStore(db, 's1', findErased);
    expect(await verified()).toEqual([]);
    expect(await nodes.findOne({ _id })).toBeNull();
  }
});

it('a missing stamp is rebuilt', async () => {
  const expected = await answers();
  await db.collection(STAMPS).deleteOne({ _id: 's1' as never });
  expect((await verified()).map(({ what }) => what)).toContain('the stamp');
  await repairStore(db, 's1', findErased);
  expect(await verified()).toEqual([]);
  expect(await answers()).toEqual(expected);
});
