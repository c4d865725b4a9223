/** Lists of customers: their filters and their order. */
import { WHOLE } from '#shared/read-models/rank-tree/keys.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { searchText } from '../parameters/kinds.ts';
import { optional, type Values } from '../parameters/parameter.ts';
import { readCreated } from './created.ts';
import type { Found } from './found.ts';
import { readGuessing, type ToInstant } from './guess.ts';
import { type ListRequest, readList } from './list.ts';
import { foundPage } from './page.ts';
import { paging } from './paging.ts';
import { createdBetween, createdRange, keyWithin, updatedBetween, updatedRange } from './range.ts';
import { readRanked } from './ranked/read.ts';
import { readSearched } from './search/read.ts';
import { searchFilter, searchTerms } from './search/terms.ts';
import { inSnapshot, type View } from './view.ts';
import { readWindow } from './window.ts';

export const customerListParameters = {
  ...paging,
  search: optional(searchText, {
    description:
      'Only customers whose name, document or phone holds this text. Names are compared without accents and letter case, documents and phones by their digits, whatever their punctuation. 1 to 100 characters; blanks at both ends are cut.',
    example: 'josé',
  }),
  ...createdRange,
  ...updatedRange,
};

/** A page of customers, by folded name. */
export async function readCustomers(
  view: View,
  values: Values<typeof customerListParameters>,
): Promise<Found> {
  const { page, page_size: pageSize, created_from: createdFrom, created_to: createdTo } = values;
  const tree = RANK_TREES.customer;
  const terms = values.search === null ? null : searchTerms(values.search);
  const isCreatedBound = createdFrom !== null || createdTo !== null;
  const isUpdatedBound = values.updated_from !== null || values.updated_to !== null;
  const createdWithin = (toInstant: ToInstant) => createdBetween(createdFrom, createdTo, toInstant);
  const request: ListRequest = {
    entity: tree.entity,
    filter: (toInstant) => ({
      ...(terms === null ? {} : searchFilter(terms)),
      ...keyWithin('created_key', createdWithin(toInstant)),
      ...updatedBetween(values.updated_from, values.updated_to, toInstant),
    }),
    sort: { [tree.keyField]: 1 },
    page,
    pageSize,
  };
  if (isUpdatedBound) return readWindow(view, request, 'by_updated');
  if (isCreatedBound && terms !== null) return readWindow(view, request, 'by_created');
  if (isCreatedBound) {
    const readWide = async () =>
      foundPage(
        await readGuessing(view, (toInstant) =>
          inSnapshot(view, (read) => readCreated(read, view, createdWithin(toInstant), request)),
        ),
        request,
      );
    return readWindow(view, request, 'by_created', { narrow: tree.leafRecords, readWide });
  }
  if (terms !== null) {
    const found = await inSnapshot(view, (read) => readSearched(read, view, terms, request));
    return found === null ? readList(view, request) : foundPage(found, request);
  }
  return readRanked(view, { tree, facets: null, range: () => WHOLE, page, pageSize });
}
