/**
 * First pages of whole lists, from one generation: requests of several stores for the same list share one read (decision
 * 0032). As a rule it begins at the stamps, and each stamp brings the page of its own store along, so that what a request is
 * given lies in one snapshot with its stamp, and never comes from another store; products have a read of their own.
 */
import { isDocumentTooLarge } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, oneOf, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import { PAGE_FIELDS, type PageRow } from './page.ts';
import type { Layout } from './products/layout.ts';
import { readSnapshot, type Source } from './snapshot.ts';

/** All records of a kind, in the order of their list. */
export interface WholeList {
  entity: EntityName;
  sort: Record<string, 1 | -1>;
}

export interface FirstPage {
  rows: readonly PageRow[];
  /** `null` while nothing of the store has arrived. */
  stamp: Stamp | null;
  /** Of products: the layout by which they were found. */
  layout?: Layout;
  /** Whether it could not be read with others. */
  isAlone?: boolean;
}

/** Reads the first pages of some stores; a store of which nothing has arrived has none. It ends by itself, whatever the server does. */
export type ReadPages = (
  list: WholeList,
  pageSize: number,
  storeIds: readonly string[],
) => Promise<ReadonlyMap<string, FirstPage>>;

const NOTHING: FirstPage = { rows: [], stamp: null };

const LIMITS: BatchLimits = { underWay: 4, ids: 16 };

/** The field that the records of a store are found in, beside those of its stamp. */
const PAGE = 'page';

export class SharedPages {
  readonly #readPages: ReadPages;
  /** By entity and page size. */
  readonly #reads = new Map<string, ReadOne<FirstPage>>();

  constructor(readPages: ReadPages) {
    this.#readPages = readPages;
  }

  /** The first page of a store's list; `null` where it is to be read alone. `signal` as of `ReadOne`. */
  async first(
    list: WholeList,
    pageSize: number,
    storeId: string,
    signal: AbortSignal,
  ): Promise<FirstPage | null> {
    const kind = `${list.entity}/${pageSize}`;
    let read = this.#reads.get(kind);
    if (read === undefined) {
      read = batched((storeIds) => this.#readPages(list, pageSize, storeIds), LIMITS);
      this.#reads.set(kind, read);
    }
    try {
      const page = (await read(storeId, signal)) ?? NOTHING;
      return page.isAlone === true ? null : page;
    } catch (error) {
      // Whose page it was is not told, so that all of them are read alone.
      if (isDocumentTooLarge(error)) return null;
      throw error;
    }
  }
}

/** Reads pages of lists whose order lies in one index. */
export async function readByLookup(
  source: Source,
  { entity, sort }: WholeList,
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const stamps = await readSnapshot<Stamp & { [PAGE]: PageRow[] }>(source, STAMPS, [
    { $match: { _id: oneOf(storeIds) } },
    {
      $lookup: {
        from: COLLECTIONS[entity],
        localField: '_id',
        foreignField: 'store_id',
        // No index can be named here. With no filter but the store's, the one in the order of the list wins every trial: it
        // brings a record with every step, and all others bring none before they have read and sorted the whole store.
        pipeline: [{ $sort: sort }, { $limit: pageSize }, PAGE_FIELDS],
        as: PAGE,
      },
    },
  ]);
  return new Map(stamps.map(({ [PAGE]: rows, ...stamp }) => [stamp._id, { rows, stamp }]));
}
