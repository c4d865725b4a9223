/**
 * Stores at the bounds of the contract: what one request makes MongoDB examine and return, for
 * every path and parameter.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import { MAX_FILTERED } from '#query/lists/windows.ts';
import {
  batchesOf,
  type Bound,
  type BoundQuestion,
  BOUNDS,
  questionsAbout,
  recordsAtBounds,
  type Sizes,
  targetOf,
} from '#test/bound-stores.ts';
import { PATHS } from '#test/declared-parameters.ts';
import { LISTS } from '#test/contract-bounds.ts';
import { useQueryService } from '#test/hooks.ts';
import { readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const LEAF = 16;
afterAll(withSmallTrees(LEAF, 4));
const service = useQueryService({ partitions: 1 });

const FEW: Sizes = {
  customer: 220,
  order: 220,
  product: 220,
  review: 220,
  campaign: 110,
  coupon: 110,
};
const MANY = MAX_FILTERED + 200;
/**
 * Windows and customers with more records than are ever filtered at once: where that is the bound.
 */
const MORE: Partial<Record<Bound, Sizes>> = {
  'one position': { product: MANY },
  'one customer': { order: MANY },
  'one second': { order: MANY, customer: MANY },
};
/** None, each alone, and all at once. Pairs are those of `test/faults/bounds.fault.test.ts`. */
const COMBINATIONS: readonly (readonly Bound[])[] = [[], ...BOUNDS.map((one) => [one]), BOUNDS];
const STORES = COMBINATIONS.map((bounds, index) => {
  const [first] = bounds;
  const more = first === undefined || bounds.length > 1 ? undefined : MORE[first];
  return {
    name: bounds.join(' and ') || 'none',
    bounds,
    storeId: `s${index}`,
    sizes: { ...FEW, ...more },
    isLarge: more !== undefined,
  };
});

type Examined = 'docsExamined' | 'keysExamined' | 'responseLength';

let db: Db;
beforeAll(async () => {
  for (const { storeId } of STORES) await service.tokenFor(storeId);
  for (const { storeId, bounds, sizes } of STORES) {
    for (const some of batchesOf(recordsAtBounds(storeId, bounds, sizes)))
      await service.apply(some);
  }
  await service.stopProjector();
  db = await readModels(service.installation);
  await db.createCollection('system.profile', { capped: true, size: 16 * 1_048_576 });
  await db.command({ profile: 2 });
});

async function ask(storeId: string, question: BoundQuestion) {
  const authorization = `Bearer ${await service.tokenFor(storeId)}`;
  const answer = await fetch(`${service.url}${targetOf(question)}`, {
    // Compressing megabytes would take most of the time.
    headers: { authorization, 'accept-encoding': 'identity' },
  });
  const body = await answer.text();
  expect(answer.status, `${targetOf(question)}: ${body.slice(0, 200)}`).toBe(200);
}

let last = 0;
/** What MongoDB examined and returned for a question. */
async function costOf(storeId: string, question: BoundQuestion) {
  await ask(storeId, question);
  const entries = await db
    .collection<{ ts: Date } & Partial<Record<Examined, number>>>('system.profile')
    .find(
      { ns: { $ne: `${db.databaseName}.system.profile` } },
      { sort: { $natural: -1 }, limit: 100 },
    )
    .toArray();
  const own = entries.filter(({ ts }) => ts.getTime() > last);
  const sum = (field: Examined) => own.reduce((all, one) => all + (one[field] ?? 0), 0);
  last = Math.max(last, ...entries.map(({ ts }) => ts.getTime()));
  return {
    documents: sum('docsExamined'),
    keys: sum('keysExamined'),
    bytes: sum('responseLength'),
  };
}

/**
 * Of leaves and nodes of trees, of stamps, and of the page: it may be tried before all are counted,
 * and before it is known to be large.
 */
const flat = (size: number) => 5 * size + 12 * LEAF;
/**
 * What is tried before a window is known to hold much: twice, its records, and two counts of them.
 */
const TRIED = 6 * (MAX_FILTERED + 1);

/**
 * Lists that take longer in proportion to what they match: those of docs/guides/paging.md, and the
 * menu, which is all of its records.
 */
function isInProportion({ path, parameters }: BoundQuestion) {
  const has = (...names: string[]) => names.some((name) => name in parameters);
  switch (path) {
    // Products by position alone: hundreds of categories may share one.
    case '/api/product/list':
    case '/api/menu/':
      return true;
    case '/api/coupon/list':
      return has('active');
    case '/api/campaign/list':
      return has('status');
    case '/api/customer/list':
      // Late pages of customers who were created in a window sort its keys.
      return has('updated_from', 'updated_to', 'search', 'created_from', 'created_to');
    default:
      return has('updated_from', 'updated_to', 'customer_id');
  }
}

/** What a question may examine. */
function most(question: BoundQuestion, sizes: Sizes) {
  const { path, parameters } = question;
  const size = Number(parameters['page_size'] ?? 20);
  // Details of a product show as many groups.
  const page =
    flat(path === '/api/product/details/' ? 100 : size) + (path === '/api/changes' ? 9 * size : 0);
  if (!isInProportion(question)) return page;
  const isWindow = Object.keys(parameters).some((name) => /_(?:from|to)$/.test(name));
  const { product = 0 } = sizes;
  const records = Math.max(
    ...Object.values(sizes),
    path === '/api/menu/' ? 2 * product + LISTS.option_group_ids : 0,
  );
  return page + 3 * records + (isWindow ? Math.min(TRIED, 6 * records) : 0);
}

/**
 * Of all replies to one request: a page of the largest customers is read once too often, before it
 * is known to be large.
 */
const MAX_BYTES = 48 * 1_048_576;

it.each(STORES)(
  'is asked for no more than its share: $name',
  async ({ storeId, sizes, isLarge }) => {
    const above: object[] = [];
    for (const path of PATHS) {
      for (const question of questionsAbout(path, isLarge ? 2 : 1)) {
        const { documents, keys, bytes } = await costOf(storeId, question);
        const bound = most(question, sizes);
        if (documents > bound || keys > bound || bytes > MAX_BYTES) {
          above.push({ target: targetOf(question), documents, keys, bytes, bound });
        }
      }
    }
    expect(above).toEqual([]);
  },
);
