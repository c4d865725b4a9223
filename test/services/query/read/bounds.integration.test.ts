/** Stores at the bounds of the contract: what one request makes MongoDB examine and return, for every path and parameter. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import { MAX_FILTERED } from '#query/lists/plan.ts';
import {
  type Bound,
  type BoundQuestion,
  COMBINATIONS,
  PATHS,
  questionsAbout,
  recordsAtBounds,
  type Sizes,
  targetOf,
} from '#test/bound-stores.ts';
import { useQueryService } from '#test/hooks.ts';
import type { TestChange } from '#test/query-service.ts';
import { readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const MAX_BATCH_BYTES = 8 * 1_048_576;
const LEAF = 16;
afterAll(withSmallTrees(LEAF, 4));
const service = useQueryService({ partitions: 1 });

const FEW: Sizes = { customer: 220, order: 220, product: 220, review: 220, campaign: 110, coupon: 110 };
const MANY = MAX_FILTERED + 200;
/** Windows and customers with more records than are ever filtered at once: where that is the bound. */
const MORE: Partial<Record<Bound, Sizes>> = {
  'one position': { product: MANY },
  'one customer': { order: MANY },
  'one second': { order: MANY, customer: MANY },
};
const STORES = COMBINATIONS.map((bounds, index) => {
  const [first] = bounds;
  const more = first === undefined || bounds.length > 1 ? {} : MORE[first];
  return { name: bounds.join(' and ') || 'none', bounds, storeId: `s${index}`, sizes: { ...FEW, ...more } };
});

let db: Db;
const tokens = new Map<string, string>();

beforeAll(async () => {
  for (const { storeId } of STORES) {
    tokens.set(storeId, await service.tokenOf({ clientId: `key-${storeId}`, storeId }));
  }
  for (const { storeId, bounds, sizes } of STORES) {
    for (const some of batchesOf(recordsAtBounds(storeId, bounds, sizes))) await service.apply(some);
  }
  await service.stopProjector();
  db = await readModels(service.installation);
  await db.createCollection('system.profile', { capped: true, size: 16 * 1_048_576 });
  await db.command({ profile: 2 });
});

/** As many changes as fit into one request to Kafka. */
function* batchesOf(changes: Iterable<TestChange>): Generator<TestChange[]> {
  let batch: TestChange[] = [];
  let bytes = 0;
  for (const change of changes) {
    const length = Buffer.byteLength(JSON.stringify(change.data)) + 500;
    if (bytes + length > MAX_BATCH_BYTES) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(change);
    bytes += length;
  }
  yield batch;
}

interface Cost {
  documents: number;
  keys: number;
  /** Of the largest reply. */
  bytes: number;
}

interface Profiled {
  ts: Date;
  ns: string;
  docsExamined?: number;
  keysExamined?: number;
  responseLength?: number;
}

async function ask(storeId: string, question: BoundQuestion) {
  const answer = await fetch(`${service.url}${targetOf(question)}`, {
    headers: { authorization: `Bearer ${tokens.get(storeId) ?? ''}` },
  });
  const text = await answer.text();
  expect(answer.status, `${targetOf(question)}: ${text.slice(0, 200)}`).toBe(200);
  return JSON.parse(text) as { count?: number; results?: unknown[] };
}

let last = 0;
async function costOf(storeId: string, question: BoundQuestion): Promise<Cost & { count: number }> {
  const { count = 0 } = await ask(storeId, question);
  const entries = await db
    .collection<Profiled>('system.profile')
    .find({ ns: { $ne: `${db.databaseName}.system.profile` } }, { sort: { $natural: -1 }, limit: 100 })
    .toArray();
  const own = entries.filter(({ ts }) => ts.getTime() > last);
  const sum = (field: 'docsExamined' | 'keysExamined') => own.reduce((all, one) => all + (one[field] ?? 0), 0);
  last = Math.max(last, ...entries.map(({ ts }) => ts.getTime()));
  const bytes = Math.max(0, ...own.map(({ responseLength = 0 }) => responseLength));
  return { count, documents: sum('docsExamined'), keys: sum('keysExamined'), bytes };
}

it.each(STORES)('$name', async ({ storeId, sizes }) => {
  const out: string[] = [];
  for (const path of PATHS) {
    for (const question of questionsAbout(path)) {
      const cost = await costOf(storeId, question);
      out.push([storeId, cost.count, cost.documents, cost.keys, cost.bytes, targetOf(question)].join('\t'));
    }
  }
  const { appendFileSync } = await import('node:fs');
  appendFileSync('/tmp/bounds/costs.tsv', out.join('\n') + '\n');
  expect(sizes).toBeTruthy();
});
