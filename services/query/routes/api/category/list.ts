/** `GET /api/category/list`: the store's categories, by position. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: paging,
  shows: ['category'],
  read: (view, { page, page_size: pageSize }) =>
    readList(view, {
      collection: COLLECTIONS.category,
      filter: () => ({}),
      sort: { position: 1, name: 1, _id: 1 },
      page,
      pageSize,
    }),
});
