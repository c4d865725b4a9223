/** The JSON of a menu, from finished bodies: a piece for each product, in the order in which they are shown. Pure. */
import type { CategoryDocument, ProductDocument } from '#shared/read-models/collections.ts';
import { shiftBody, toLocalDateTime } from '#shared/read-models/local-time.ts';

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
    const summary = shiftBody(product.summary, product.offset, this.#offset);
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
    return `${shiftBody(category.summary, category.offset, this.#offset).slice(0, -1)},"products":[`;
  }

  #note(updated: Date): void {
    if (this.#newest === null || updated > this.#newest) this.#newest = updated;
  }
}
