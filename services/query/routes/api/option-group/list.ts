/** `GET /api/option-group/list`: the store's option groups with their options, by folded name. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: paging,
  shows: ['option_group'],
  read: (view, { page, page_size: pageSize }) =>
    readList(view, {
      collection: COLLECTIONS.option_group,
      filter: () => ({}),
      sort: { name_key: 1, _id: 1 },
      page,
      pageSize,
    }),
});
