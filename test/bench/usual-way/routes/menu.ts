/** The usual menu: three parallel finds, joined for every request. */
import type { FastifyInstance } from 'fastify';
import type { Db, Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { localize, localTime, type Shift } from '../documents.ts';
import { menu } from '../schemas.ts';

const CATEGORIES = { position: 1, name: 1, _id: 1 } as const;
const PRODUCTS = { category_position: 1, ...CATEGORIES } as const;
/** Large enough for one batch, since each further one costs a round trip. */
const ALL = { batchSize: 100_000 };

export function addMenu(
  app: FastifyInstance,
  db: Db,
  shiftOf: (storeId: string) => Promise<Shift>,
): void {
  app.get('/api/menu/', { schema: { response: { 200: menu } } }, async ({ storeId }) => {
    const shift = await shiftOf(storeId);
    const shown = { store_id: storeId, active: true };
    const [categories, products, groups] = await Promise.all([
      db.collection(COLLECTIONS.category).find(shown, ALL).sort(CATEGORIES).toArray(),
      db.collection(COLLECTIONS.product).find(shown, ALL).sort(PRODUCTS).toArray(),
      db.collection(COLLECTIONS.option_group).find({ store_id: storeId }, ALL).toArray(),
    ]);
    return { store_id: storeId, ...compose(categories, products, groups, shift) };
  });
}

function compose(
  categories: Document[],
  products: Document[],
  groups: Document[],
  shift: Shift,
): object {
  const groupsById = new Map(groups.map((group) => [group['id'], withActiveOptions(group)]));
  const ofCategory = Map.groupBy(products, (product): unknown => product['category_id']);
  const filled = categories.filter((category) => ofCategory.has(category['id']));
  let newest: Date | null = null;
  for (const { updated_at: at } of [
    ...filled,
    ...filled.flatMap(({ id }) => ofCategory.get(id) ?? []),
  ]) {
    if (newest === null || at > newest) newest = at;
  }
  for (const category of filled) {
    category['products'] = ofCategory.get(category['id']);
    for (const product of category['products']) {
      localize(product, shift);
      product['option_groups'] = product['option_group_ids'].flatMap(
        (id: string) => groupsById.get(id) ?? [],
      );
    }
  }
  return { updated_at: newest === null ? null : localTime(newest, shift), categories: filled };
}

function withActiveOptions(group: Document): Document {
  return {
    ...group,
    options: group['options'].filter(({ active }: { active: boolean }) => active),
  };
}
