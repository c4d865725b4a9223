import { isDeepStrictEqual } from 'node:util';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { repairStore } from '#shared/projection/verify/repair.ts';
import { deadlineAfter } from '#query/deadline.ts';
import { createCaches } from '#query/read/caches.ts';
import { inOrderOf, listRequest } from '#query/lists/plan.ts';
import { readList } from '#query/lists/run.ts';
import { SharedReads, type View } from '#query/read/shared-reads.ts';
import {
  COLLECTIONS,
  createReadModels,
  type OrderDocument,
  RANK_NODES,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { type KeyRange, WHOLE } from '#shared/read-models/rank-tree/keys.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const PAGE_SIZE = 3;
const tree = RANK_TREES.order;

/** What a test needs of an order. */
type Order = Pick<OrderDocument, '_id' | 'store_id' | 'rank_key' | 'facet' | 'summary' | 'offset'>;

const order = (at: number): Order => ({
  _id: `s1/o${at}`,
  store_id: 's1',
  rank_key: String(at).padStart(5, '0'),
  facet: `${'ab'.charAt(at % 2)}a${at % 3 === 0 ? 0 : 1}`,
  summary: `{"at":${at}}`,
  offset: '+00:00',
});

describe('a page by rank', () => {
  const installation = useInstallation();
  let restore: () => void;
  let client: MongoClient;
  let view: View;
  let aggregates = 0;
  let tests = 0;
  beforeAll(async () => {
    restore = withSmallTrees(8, 3);
    client = new MongoClient(installation.config.mongodb.uri, { monitorCommands: true });
    client.on('commandStarted', ({ commandName }) => {
      if (commandName === 'aggregate') aggregates += 1;
    });
  });
  afterAll(async () => {
    restore();
    await client.close();
  });
  beforeEach(async () => {
    tests += 1;
    const db = client.db(`${installation.config.namePrefix}_ranked${tests}`);
    await createReadModels(db);
    const marker = {
      _id: 'marker' as const,
      id: db.databaseName,
      environment: installation.environment,
      number: 1,
      projection_version: PROJECTION_VERSION,
      created_at: new Date(),
    };
    const generation = { marker, db: forSnapshots(db) };
    const withDeadline = deadlineAfter(60_000);
    const caches = createCaches();
    const source = { generation, withDeadline, rows: caches.rows };
    view = {
      ...source,
      storeId: 's1',
      shared: new SharedReads(source, caches),
      redactErased: false,
    };
  });

  /** Puts orders in the place of all that are stored, and makes their tree. */
  async function store(orders: readonly Order[]): Promise<void> {
    const db = client.db(view.generation.db.databaseName);
    await db.collection<Order>(COLLECTIONS.order).deleteMany({});
    await db.collection<Order>(COLLECTIONS.order).insertMany([...orders]);
    const stamps = db.collection<Stamp>(STAMPS);
    await stamps.updateOne({ _id: 's1' }, { $set: { store_id: 's1' } }, { upsert: true });
    const { databases, environment } = installation;
    await repairStore(db, 's1', findErasedIn(databases.control, environment));
    await eventually('the snapshot is the newest', async () => {
      const shown = await stamps.find({}, { readConcern: 'snapshot' }).toArray();
      return isDeepStrictEqual(shown, await stamps.find({}).toArray());
    });
  }

  async function pageOf(range: KeyRange, facets: string[] | null, page: number): Promise<unknown> {
    const created = () => range;
    const asked = { facets, created, createdKey: tree.keyField, page, pageSize: PAGE_SIZE };
    return JSON.parse(String((await readList(view, listRequest({ ...inOrderOf(tree), ...asked }))).body));
  }

  function expected(orders: readonly Order[], range: KeyRange, facets: string[] | null, page: number): unknown {
    const matching = orders
      .filter(({ facet }) => facets === null || facets.includes(facet))
      .filter(({ rank_key: key }) => key >= range.from && (range.to === null || key < range.to))
      .toSorted((a, b) => (a.rank_key < b.rank_key ? -1 : 1));
    const shown = matching.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    return {
      count: matching.length,
      page,
      page_size: PAGE_SIZE,
      results: shown.map(({ summary }) => JSON.parse(summary) as unknown),
    };
  }

  it('is right, whatever was read and has changed since', async () => {
    // Each time other nodes begin elsewhere than those that are remembered, and there are more or fewer levels.
    for (const [from, to, step] of [
      [2_000, 2_400, 1],
      [1_990, 2_400, 1],
      [1_000, 2_400, 2],
      [2_300, 2_395, 1],
      [2_100, 2_105, 1],
      [1_000, 2_200, 3],
    ] as const) {
      const orders: Order[] = [];
      for (let at = from; at < to; at += step) orders.push(order(at));
      await store(orders);
      for (const range of [
        WHOLE,
        { from: '02001', to: '02371' },
        { from: '0210', to: null },
        { from: '', to: '02333' },
        { from: '02350', to: '02100' },
      ]) {
        for (const facets of [null, ['aa1', 'ba0'], ['none']]) {
          for (const page of [1, 2, 9, 23, 60, 1_000]) {
            const answer = await pageOf(range, facets, page);
            expect([from, range, facets, answer]).toEqual([from, range, facets, expected(orders, range, facets, page)]);
          }
        }
      }
    }
  });

  const many = Array.from({ length: 1_200 }, (_, at) => order(at));

  it('takes one round trip once the tree was read, two behind the front of a range, with a filter too', async () => {
    await store(many);
    const roundTrips = async (range: KeyRange, facets: string[] | null, page: number) => {
      await pageOf(range, facets, page);
      const before = aggregates;
      await pageOf(range, facets, page);
      return aggregates - before;
    };
    const stamp = await client.db(view.generation.db.databaseName).collection<Stamp>(STAMPS).findOne();
    expect(stamp?.ranks?.order?.levels).toBeGreaterThan(3);
    const range = { from: '00101', to: '00903' };
    expect(await roundTrips(WHOLE, null, 200)).toBe(1);
    expect(await roundTrips(WHOLE, ['aa1', 'ba0'], 40)).toBe(1);
    expect(await roundTrips(range, null, 120)).toBe(2);
    expect(await roundTrips(range, ['aa1', 'ba0'], 40)).toBe(2);
    expect(await roundTrips(range, ['aa1'], 1)).toBe(1);
  });

  it('is read together with others, and is what it is alone', async () => {
    await store(many);
    const range = { from: '00101', to: '00903' };
    const asked = [
      [WHOLE, null, 200],
      [WHOLE, null, 3],
      [WHOLE, null, 399],
      [WHOLE, null, 1_000],
      [range, null, 1],
      [{ from: '00500', to: null }, null, 2],
    ] as const;
    const ask = () => Promise.all(asked.map(([within, facets, page]) => pageOf(within, facets, page)));
    await ask();
    const before = aggregates;
    const answers = await ask();
    // One for all, and one for the page behind the last.
    expect(aggregates - before).toBe(2);
    expect(answers).toEqual(asked.map(([within, facets, page]) => expected(many, within, facets, page)));
  });

  it('is right where a node is gone', async () => {
    await store(many);
    await pageOf({ from: '00101', to: '00903' }, null, 100);
    const nodes = client.db(view.generation.db.databaseName).collection<RankNode>(RANK_NODES);
    const { deletedCount } = await nodes.deleteMany({ _id: /^order\/s1\/0\/./ });
    expect(deletedCount).toBeGreaterThan(10);
    const range = { from: '00102', to: '00904' };
    await eventually('the snapshot has lost it too', async () => {
      const shown = await nodes.find({}, { readConcern: 'snapshot' }).toArray();
      return shown.length === (await nodes.countDocuments());
    });
    expect(await pageOf(range, null, 100)).toEqual(expected(many, range, null, 100));
  });
});
