/** Reads the menu: the sections that the projector composed, joined. */
import { MENU_SECTIONS, type MenuSection } from '#shared/read-models/collections.ts';
import { shiftBody, toLocalDateTime } from '#shared/read-models/local-time.ts';
import type { Found } from './found.ts';
import { offsetOf, readSnapshot, stampIn, unionWithStamp, type View } from './view.ts';

type Section = Pick<MenuSection, 'category' | 'products' | 'offset' | 'updated_at' | 'part'>;
type Row = Partial<Section>;

/** The menu of the store; without categories where it has none to show. */
export async function readMenu(view: View): Promise<Found> {
  const rows = await readSnapshot<Row>(view, MENU_SECTIONS, [
    { $match: { store_id: view.storeId } },
    { $sort: { position: 1, name: 1, category_id: 1, part: 1 } },
    { $project: { _id: 0, category: 1, products: 1, offset: 1, updated_at: 1, part: 1 } },
    unionWithStamp(view),
  ]);
  const stamp = stampIn(rows);
  const offset = offsetOf(stamp);
  const sections = rows.filter((row): row is Section => row.products !== undefined);
  const newest = sections.reduce<Date | null>(
    (latest, { updated_at: at }) => (latest === null || at > latest ? at : latest),
    null,
  );
  const updatedAt = newest === null ? null : toLocalDateTime(newest.getTime(), offset);
  const members = `"store_id":${JSON.stringify(view.storeId)},"updated_at":${JSON.stringify(updatedAt)}`;
  return { body: `{${members},"categories":[${joinCategories(sections, offset)}]}`, stamp };
}

/** Parts of one category follow one another. */
function joinCategories(sections: readonly Section[], offset: string): string {
  let text = '';
  for (const section of sections) {
    const products = shiftBody(section.products, section.offset, offset);
    if (section.part > 0) text += `,${products}`;
    else text += `${text === '' ? '' : ']},'}${section.category.slice(0, -1)},"products":[${products}`;
  }
  return text === '' ? '' : `${text}]}`;
}
