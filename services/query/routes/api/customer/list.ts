/** `GET /api/customer/list`: the store's customers by name. */
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { listEndpoint } from '#query/list-endpoint.ts';
import { searchText } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { inOrderOf } from '#query/reading/list-request.ts';
import { createdBetween, createdRange, updatedBetween, updatedRange } from '#query/reading/range.ts';
import { searchTerms } from '#query/reading/search/terms.ts';

export const customerFilters = {
  search: optional(searchText, {
    description:
      'Only customers whose name, document or phone holds this text. Names are compared without accents and letter case, documents and phones by their digits, whatever their punctuation. 1 to 100 characters; blanks at both ends are cut.',
    example: 'josé',
  }),
  ...createdRange,
  ...updatedRange,
};

export default listEndpoint('customer', {
  description: 'The customers of the store by name: compared without accents and letter case.',
  filters: customerFilters,
  links: [{ operationId: 'listCustomerOrders', parameter: 'customer_id', from: '/results/0/id' }],
  ask: ({ search, ...range }) => ({
    ...inOrderOf(RANK_TREES.customer),
    created: createdBetween(range),
    updated: updatedBetween(range),
    search: search === null ? null : searchTerms(search),
  }),
});
