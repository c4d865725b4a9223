/** `GET /api/review/list`: the store's reviews, newest first. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { NEWEST_FIRST, readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';
import { between, createdRange } from '#query/reading/range.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: { ...paging, rating: repeatable(oneOf(['1', '2', '3', '4', '5'])), ...createdRange },
  shows: ['review'],
  read: (view, { page, page_size: pageSize, rating, created_from: from, created_to: to }) =>
    readList(view, {
      collection: COLLECTIONS.review,
      filter: (toInstant) => ({
        ...(rating.length === 0 ? {} : { rating: { $in: rating.map(Number) } }),
        ...between('created_at', from, to, toInstant),
      }),
      sort: NEWEST_FIRST,
      page,
      pageSize,
    }),
});
