/** Small menus, as nearly all are: everything of a store in one read, joined in memory. */
import type { Document } from 'mongodb';
import { isDocumentTooLarge } from '#shared/errors.ts';
import {
  COLLECTIONS,
  documentId,
  type OptionGroupDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { WITHIN_CATEGORY } from '../lists/product-layout.ts';
import { offsetOf, readSnapshot, type Source } from '../read/snapshot.ts';
import { MenuText, type ShownCategory, type ShownProduct } from './build.ts';

/** Records of all kinds together, of a store. */
const MAX_RECORDS = 1_000;
/** Characters of the bodies of a store, and of its menu. */
const MAX_CHARACTERS = 1_048_576;

/** A stamp, and what the menu shows of its store. */
type Row = Stamp & {
  /** In order of their categories' ids, then in their own. */
  products: ShownProduct[];
  categories: ShownCategory[];
  groups: Pick<OptionGroupDocument, '_id' | 'active_summary'>[];
};

export interface SmallMenu {
  body: Buffer;
  stamp: Stamp | null;
}

/** Whether a store has so few records that its menu is most likely small. */
export function isFew(stamp: Stamp | null): boolean {
  const { category = 0, product = 0, option_group: groups = 0 } = stamp?.counts ?? {};
  return category + product + groups <= MAX_RECORDS;
}

/** Reads the menu of a store; `null` where it turns out to be large. */
export async function readSmallMenu(source: Source, storeId: string): Promise<SmallMenu | null> {
  let found: Row | undefined;
  try {
    [found] = await readSnapshot<Row>(source, STAMPS, stagesOf(storeId));
  } catch (error) {
    if (isDocumentTooLarge(error)) return null;
    throw error;
  }
  if (found === undefined) {
    const menu = new MenuText(storeId, offsetOf(null));
    return { body: Buffer.from(menu.begin() + menu.end(), 'latin1'), stamp: null };
  }
  const text = textOf(found);
  const { products: _products, categories: _categories, groups: _groups, ...stamp } = found;
  return text === null ? null : { body: Buffer.from(text, 'latin1'), stamp };
}

function charactersOf({ products, categories, groups }: Row): number {
  const bodies = [...products, ...categories].reduce((sum, { summary }) => sum + summary.length, 0);
  return groups.reduce((sum, { active_summary: body }) => sum + body.length, bodies);
}

/** The JSON of a menu; `null` where it is large. */
function textOf(row: Row): string | null {
  if (charactersOf(row) > MAX_CHARACTERS) return null;
  const { length } = documentId(row._id, '');
  const products = Map.groupBy(row.products, ({ category_id: category }) => category);
  const groups = new Map(row.groups.map(({ _id, active_summary: body }) => [_id.slice(length), body]));
  const menu = new MenuText(row._id, offsetOf(row));
  let text = menu.begin();
  for (const category of row.categories) {
    for (const product of products.get(category._id.slice(length)) ?? []) {
      const shown = product.option_group_ids.flatMap((id) => groups.get(id) ?? []);
      text += menu.product(category, product, shown);
      if (text.length > MAX_CHARACTERS) return null;
    }
  }
  return text + menu.end();
}

/** What a row holds lies in arrays: read one by one, a store's records would take the driver twice the time. */
function stagesOf(storeId: string): Document[] {
  const shown = { summary: 1, offset: 1, updated_at: 1 };
  const ofStore = (from: string, as: string, pipeline: Document[]) => ({
    $lookup: { from, localField: '_id', foreignField: 'store_id', pipeline, as },
  });
  return [
    { $match: { _id: storeId } },
    ofStore(COLLECTIONS.product, 'products', [
      { $match: { active: true } },
      { $sort: { category_id: 1, ...WITHIN_CATEGORY } },
      { $project: { _id: 0, category_id: 1, option_group_ids: 1, ...shown } },
    ]),
    ofStore(COLLECTIONS.category, 'categories', [
      { $match: { active: true } },
      { $sort: { position: 1, name: 1, _id: 1 } },
      { $project: shown },
    ]),
    ofStore(COLLECTIONS.option_group, 'groups', [{ $project: { active_summary: 1 } }]),
  ];
}
