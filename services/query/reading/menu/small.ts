/** Small menus, as nearly all are: everything of some stores in one read, joined in memory. */
import {
  COLLECTIONS,
  documentId,
  type OptionGroupDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { idIn } from '../id-in.ts';
import { PIECE_INDEX } from '../products/layout.ts';
import { offsetOf } from '../stamp.ts';
import type { SnapshotReads } from '../snapshot.ts';
import { MenuText, type ShownCategory, type ShownProduct } from './text.ts';

/** Records of all kinds together, of a store. */
const MOST_RECORDS = 1_000;
/** Characters of the bodies of a store, and of its menu. */
const MOST_CHARACTERS = 1_048_576;
/** Characters of the bodies of all stores of a read. */
const MOST_TOGETHER = 8 * MOST_CHARACTERS;

/** Told apart by what only one of them has. */
type Row =
  | ({ store_id: string } & ShownProduct & { active_summary?: undefined })
  | (GroupRow & { option_group_ids?: undefined })
  | ({ store_id: string } & ShownCategory & { active_summary?: undefined; option_group_ids?: undefined })
  | (Stamp & { active_summary?: undefined; option_group_ids?: undefined; summary?: undefined });
type GroupRow = Pick<OptionGroupDocument, '_id' | 'store_id' | 'active_summary'>;

export interface SmallMenu {
  text: string;
  stamp: Stamp | null;
}

/** Whether a store has so few records that its menu is most likely small. */
export function isFew(stamp: Stamp | null): boolean {
  const { category = 0, product = 0, option_group: groups = 0 } = stamp?.counts ?? {};
  return category + product + groups <= MOST_RECORDS;
}

/** What is read of one store. */
class Read {
  readonly categories: ShownCategory[] = [];
  /** By the id of their category. */
  readonly products = new Map<string, ShownProduct[]>();
  /** By their own ids. */
  readonly groups = new Map<string, string>();
  stamp: Stamp | null = null;
  characters = 0;
}

/** Reads the menus of some stores from one snapshot; those that turn out to be large are left out, and too many at once all of them. */
export async function readSmallMenus(
  reads: SnapshotReads,
  storeIds: readonly string[],
): Promise<Map<string, SmallMenu>> {
  const stores = new Map(storeIds.map((storeId) => [storeId, new Read()]));
  let together = 0;
  for await (const rows of reads.batches<Row>(COLLECTIONS.product, stagesOf(storeIds), PIECE_INDEX)) {
    for (const row of rows) {
      const store = stores.get(row.store_id);
      if (store === undefined) continue;
      const characters = take(store, row);
      store.characters += characters;
      together += characters;
    }
    if (together > MOST_TOGETHER) return new Map();
  }
  const menus = new Map<string, SmallMenu>();
  for (const [storeId, store] of stores) {
    const text = textOf(storeId, store);
    if (text !== null) menus.set(storeId, { text, stamp: store.stamp });
  }
  return menus;
}

/** @returns how many characters of bodies it took. */
function take(store: Read, row: Row): number {
  if (row.option_group_ids !== undefined) {
    const others = store.products.get(row.category_id);
    if (others === undefined) store.products.set(row.category_id, [row]);
    else others.push(row);
    return row.summary.length;
  }
  if (row.active_summary !== undefined) {
    store.groups.set(row._id.slice(row.store_id.length + 1), row.active_summary);
    return row.active_summary.length;
  }
  if (row.summary !== undefined) {
    store.categories.push(row);
    return row.summary.length;
  }
  store.stamp = row;
  return 0;
}

/** The JSON of a menu; `null` where it is large. */
function textOf(storeId: string, { categories, products, groups, stamp, characters }: Read): string | null {
  if (characters > MOST_CHARACTERS) return null;
  const menu = new MenuText(storeId, offsetOf(stamp));
  let text = menu.begin();
  for (const category of categories) {
    for (const product of products.get(category._id.slice(documentId(storeId, '').length)) ?? []) {
      const shown = product.option_group_ids.flatMap((id) => groups.get(id) ?? []);
      text += menu.product(category, product, shown);
      if (text.length > MOST_CHARACTERS) return null;
    }
  }
  return text + menu.end();
}

function stagesOf(storeIds: readonly string[]) {
  const stores = idIn(storeIds);
  const shown = { store_id: 1, summary: 1, offset: 1, updated_at: 1 };
  return [
    { $match: { store_id: stores, active: true } },
    { $sort: { store_id: 1, category_id: 1, position: 1, name: 1, _id: 1 } },
    { $project: { _id: 0, category_id: 1, option_group_ids: 1, ...shown } },
    {
      $unionWith: {
        coll: COLLECTIONS.category,
        pipeline: [
          { $match: { store_id: stores, active: true } },
          { $sort: { store_id: 1, position: 1, name: 1, _id: 1 } },
          { $project: shown },
        ],
      },
    },
    {
      $unionWith: {
        coll: COLLECTIONS.option_group,
        pipeline: [{ $match: { store_id: stores } }, { $project: { store_id: 1, active_summary: 1 } }],
      },
    },
    { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: stores } }] } },
  ];
}
