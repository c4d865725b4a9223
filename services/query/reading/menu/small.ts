/** Small menus, as nearly all are: everything of the store in one read, joined in memory. */
import {
  COLLECTIONS,
  documentId,
  type OptionGroupDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { PIECE_INDEX } from '../products/layout.ts';
import { offsetOf, type SnapshotReads } from '../view.ts';
import { MenuText, type ShownCategory, type ShownProduct } from './text.ts';

/** Records of all kinds together. */
const MOST_RECORDS = 1_000;
/** Characters of their bodies. */
const MOST_CHARACTERS = 1_048_576;

type Row =
  | ({ kind: 'category' } & ShownCategory)
  | ({ kind: 'product' } & ShownProduct)
  | ({ kind: 'group' } & Pick<OptionGroupDocument, '_id' | 'active_summary'>)
  | (Stamp & { kind?: undefined });

export interface SmallMenu {
  text: string;
  stamp: Stamp | null;
}

/** Whether a store has so few records that its menu is most likely small. */
export function isFew(stamp: Stamp | null): boolean {
  const { category = 0, product = 0, option_group: groups = 0 } = stamp?.counts ?? {};
  return category + product + groups <= MOST_RECORDS;
}

/** Reads a menu; `null` where it turns out to be large. */
export async function readSmallMenu(reads: SnapshotReads, storeId: string): Promise<SmallMenu | null> {
  const categories: ShownCategory[] = [];
  const products = new Map<string, ShownProduct[]>();
  const groups = new Map<string, string>();
  let stamp: Stamp | null = null;
  let characters = 0;
  for await (const rows of reads.batches<Row>(COLLECTIONS.product, stagesOf(storeId), PIECE_INDEX)) {
    for (const row of rows) {
      if (row.kind === undefined) {
        stamp = row;
      } else if (row.kind === 'group') {
        groups.set(row._id, row.active_summary);
        characters += row.active_summary.length;
      } else {
        characters += row.summary.length;
        if (row.kind === 'category') categories.push(row);
        else {
          const id = documentId(storeId, row.category_id);
          const others = products.get(id);
          if (others === undefined) products.set(id, [row]);
          else others.push(row);
        }
      }
    }
    if (characters > MOST_CHARACTERS) return null;
  }
  const menu = new MenuText(storeId, offsetOf(stamp));
  let text = menu.begin();
  for (const category of categories) {
    for (const product of products.get(category._id) ?? []) {
      const shown = product.option_group_ids.flatMap((id) => groups.get(documentId(storeId, id)) ?? []);
      text += menu.product(category, product, shown);
      if (text.length > MOST_CHARACTERS) return null;
    }
  }
  return { text: text + menu.end(), stamp };
}

function stagesOf(storeId: string) {
  return [
    { $match: { store_id: storeId, active: true } },
    { $sort: { category_id: 1, position: 1, name: 1, _id: 1 } },
    {
      $project: {
        _id: 0,
        kind: { $literal: 'product' },
        category_id: 1,
        summary: 1,
        offset: 1,
        updated_at: 1,
        option_group_ids: 1,
      },
    },
    {
      $unionWith: {
        coll: COLLECTIONS.category,
        pipeline: [
          { $match: { store_id: storeId, active: true } },
          { $sort: { position: 1, name: 1, _id: 1 } },
          { $project: { kind: { $literal: 'category' }, summary: 1, offset: 1, updated_at: 1 } },
        ],
      },
    },
    {
      $unionWith: {
        coll: COLLECTIONS.option_group,
        pipeline: [
          { $match: { store_id: storeId } },
          { $project: { kind: { $literal: 'group' }, active_summary: 1 } },
        ],
      },
    },
    { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } },
  ];
}
