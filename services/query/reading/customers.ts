/** Lists of customers: their filters and their order. */
import { searchText } from '../parameters/kinds.ts';
import { optional, type Values } from '../parameters/parameter.ts';
import type { Found } from './found.ts';
import { readList } from './list.ts';
import { paging } from './paging.ts';
import { between, createdRange, updatedRange } from './range.ts';
import { searchFilter } from './search.ts';
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
export async function readCustomers(
  view: View,
  values: Values<typeof customerListParameters>,
): Promise<Found> {
  return readList(view, {
    entity: 'customer',
    filter: (toInstant) => ({
      ...(values.search === null ? {} : searchFilter(values.search)),
      ...between('created_at', values.created_from, values.created_to, toInstant),
      ...between('updated_at', values.updated_from, values.updated_to, toInstant),
    }),
    sort: { name_key: 1, _id: 1 },
    page: values.page,
    pageSize: values.page_size,
  });
}
