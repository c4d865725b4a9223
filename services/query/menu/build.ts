/**
 * Menus of any size, piece by piece: some categories, their products, and the option groups that these name, all from one
 * snapshot. What is held at a time is bounded, however large the menu is.
 */
import { LRUCache } from 'lru-cache';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  documentsWith,
  type OptionGroupDocument,
  type CategoryDocument,
  type ProductDocument,
} from '#shared/read-models/collections.ts';
import { SEGMENT_INDEX, unionPipelines, WITHIN_CATEGORY } from '../lists/product-layout.ts';
import type { SnapshotReads } from '../read/snapshot.ts';
import { shiftJson, toLocalDateTime } from '#shared/read-models/local-time.ts';

/** Categories whose products are found by one command. */
const CATEGORIES = 50;
/** Products that come at once. */
const PRODUCTS = 100;
/** Option groups that are read at once, unless a single product has more: a product has 100 at most. */
const GROUPS = 100;
/** Characters of option groups that are kept for the products that follow. */
const KEPT_CHARACTERS = 8 * 1_048_576;
/** Pieces are sent in such portions. */
const PORTION_CHARACTERS = 65_536;

/** The JSON of a store's menu. @param offset that in which the answer is given, from the same snapshot. */
export async function* readLargeMenu(
  reads: SnapshotReads,
  storeId: string,
  offset: string,
): AsyncGenerator<Buffer> {
  const menu = new MenuText(storeId, offset);
  let portion = menu.begin();
  for await (const { category, product, groups } of shownProducts(reads, storeId)) {
    portion += menu.product(category, product, groups);
    if (portion.length >= PORTION_CHARACTERS) {
      yield Buffer.from(portion, 'latin1');
      portion = '';
    }
  }
  yield Buffer.from(portion + menu.end(), 'latin1');
}

interface Shown {
  category: ShownCategory;
  product: ShownProduct;
  groups: string[];
}

async function* shownProducts(reads: SnapshotReads, storeId: string): AsyncGenerator<Shown> {
  const groups = new Groups(reads, storeId);
  for await (const categories of activeCategories(reads, storeId)) {
    const byId = new Map(categories.map((category) => [category._id, category]));
    const stages =
      unionPipelines(categories.map(({ _id }) => productsOf(storeId, _id.slice(storeId.length + 1)))) ?? [];
    for await (const products of reads.batches<ShownProduct>(
      COLLECTIONS.product,
      stages,
      SEGMENT_INDEX,
      PRODUCTS,
    )) {
      for (const some of parts(products)) {
        const bodies = await groups.of(some);
        for (const product of some) {
          const category = byId.get(documentId(storeId, product.category_id));
          if (category === undefined) continue;
          yield { category, product, groups: product.option_group_ids.flatMap((id) => bodies.get(id) ?? []) };
        }
      }
    }
  }
}

/** The active categories in order, some at a time. */
function activeCategories(reads: SnapshotReads, storeId: string): AsyncGenerator<ShownCategory[]> {
  return reads.batches<ShownCategory>(
    COLLECTIONS.category,
    [
      { $match: { store_id: storeId, active: true } },
      { $sort: { position: 1, name: 1, _id: 1 } },
      { $project: { summary: 1, offset: 1, updated_at: 1 } },
    ],
    'by_position',
    CATEGORIES,
  );
}

function productsOf(storeId: string, category: string) {
  return [
    { $match: { store_id: storeId, category_id: category, active: true } },
    { $sort: WITHIN_CATEGORY },
    {
      $project: { _id: 0, category_id: 1, summary: 1, offset: 1, updated_at: 1, option_group_ids: 1 },
    },
  ];
}

/** Products that follow one another, with few option groups together. */
function* parts(products: readonly ShownProduct[]): Generator<ShownProduct[]> {
  let part: ShownProduct[] = [];
  let groups = new Set<string>();
  for (const product of products) {
    const together = groups.union(new Set(product.option_group_ids));
    if (part.length > 0 && together.size > GROUPS) {
      yield part;
      part = [];
      groups = new Set(product.option_group_ids);
    } else {
      groups = together;
    }
    part.push(product);
  }
  if (part.length > 0) yield part;
}

/** What the menu shows of option groups. */
class Groups {
  readonly #reads: SnapshotReads;
  readonly #storeId: string;
  /** Of a group that does not exist, nothing. */
  readonly #kept = new LRUCache<string, string>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: (body) => body.length + 100,
  });

  constructor(reads: SnapshotReads, storeId: string) {
    this.#reads = reads;
    this.#storeId = storeId;
  }

  /** Those that some products name, by id; those that do not exist are left out. */
  async of(products: readonly ShownProduct[]): Promise<Map<string, string>> {
    const bodies = new Map<string, string>();
    const missing: string[] = [];
    for (const id of new Set(products.flatMap((product) => product.option_group_ids))) {
      const body = this.#kept.get(id);
      if (body === undefined) missing.push(id);
      else if (body !== '') bodies.set(id, body);
    }
    if (missing.length === 0) return bodies;
    const found = await this.#reads.read<Pick<OptionGroupDocument, '_id' | 'active_summary'>>(
      COLLECTIONS.option_group,
      [
        { $match: documentsWith(missing.map((id) => documentId(this.#storeId, id))) },
        { $project: { active_summary: 1 } },
      ],
      BY_ID,
    );
    for (const { _id, active_summary: body } of found) {
      bodies.set(_id.slice(this.#storeId.length + 1), body);
    }
    for (const id of missing) this.#kept.set(id, bodies.get(id) ?? '');
    return bodies;
  }
}

export type ShownCategory = Pick<CategoryDocument, '_id' | 'summary' | 'offset' | 'updated_at'>;
export type ShownProduct = Pick<
  ProductDocument,
  'category_id' | 'summary' | 'offset' | 'updated_at' | 'option_group_ids'
>;

export class MenuText {
  readonly #storeId: string;
  readonly #offset: string;
  #category: ShownCategory | null = null;
  #newest: Date | null = null;

  /** @param offset that in which the answer is given. */
  constructor(storeId: string, offset: string) {
    this.#storeId = storeId;
    this.#offset = offset;
  }

  /** What comes before the first product. */
  begin(): string {
    return `{"store_id":${JSON.stringify(this.#storeId)},"categories":[`;
  }

  /**
   * The next product. Those of a category follow one another.
   * @param groups what is shown of its option groups, in order.
   */
  product(category: ShownCategory, product: ShownProduct, groups: readonly string[]): string {
    const before = this.#category === null ? '' : this.#category === category ? ',' : ']},';
    const opening = this.#category === category ? '' : this.#open(category);
    this.#note(product.updated_at);
    const summary = shiftJson(product.summary, product.offset, this.#offset);
    return `${before}${opening}${summary.slice(0, -1)},"option_groups":[${groups.join(',')}]}`;
  }

  /** What comes after the last product. */
  end(): string {
    const newest = this.#newest === null ? null : toLocalDateTime(this.#newest.getTime(), this.#offset);
    return `${this.#category === null ? '' : ']}'}],"updated_at":${JSON.stringify(newest)}}`;
  }

  #open(category: ShownCategory): string {
    this.#category = category;
    this.#note(category.updated_at);
    return `${shiftJson(category.summary, category.offset, this.#offset).slice(0, -1)},"products":[`;
  }

  #note(updated: Date): void {
    if (this.#newest === null || updated > this.#newest) this.#newest = updated;
  }
}
