/** Lists of customers: their filters and their order. */
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { searchText } from '../parameters/kinds.ts';
import { optional, type Values } from '../parameters/parameter.ts';
import type { Found } from './found.ts';
import { readList } from './lists.ts';
import { rankedRequest } from './list-request.ts';
import { paging } from './paging.ts';
import { createdBetween, createdRange, updatedBetween, updatedRange } from './range.ts';
import { searchTerms } from './search/terms.ts';
import type { View } from './view.ts';

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
export function readCustomers(view: View, values: Values<typeof customerListParameters>): Promise<Found> {
  return readList(
    view,
    rankedRequest(RANK_TREES.customer, {
      page: values.page,
      pageSize: values.page_size,
      created: (toInstant) => createdBetween(values.created_from, values.created_to, toInstant),
      updated: (toInstant) => updatedBetween(values.updated_from, values.updated_to, toInstant),
      search: values.search === null ? null : searchTerms(values.search),
    }),
  );
}
