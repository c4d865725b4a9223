/** `GET /api/review/list`: the store's reviews, newest first. */
import { reviewFacets } from '#shared/read-models/rank-tree/facets.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { paging } from '#query/reading/paging.ts';
import { createdBetween, createdRange } from '#query/reading/range.ts';
import { rankedRequest } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { Rating, ReviewSummary } from '#query/records/review.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: {
    ...paging,
    rating: repeatable(oneOf(['1', '2', '3', '4', '5'], Rating), {
      description: 'Only reviews with this rating. Repeat it for several: `rating=1&rating=2`.',
    }),
    ...createdRange,
  },
  documentation: {
    operationId: 'listReviews',
    tag: 'Reviews',
    summary: 'List reviews',
    description: 'The reviews of the store, newest first.',
    answer: page(ReviewSummary),
    links: [{ operationId: 'getReview', parameter: 'review_id', from: '/results/0/id' }],
  },
  shows: ['review'],
  read: (view, { page, page_size: pageSize, rating, created_from: from, created_to: to }) =>
    readList(
      view,
      rankedRequest(RANK_TREES.review, {
        facets: reviewFacets(rating),
        created: (toInstant) => createdBetween(from, to, toInstant),
        createdKey: 'rank_key',
        page,
        pageSize,
      }),
    ),
});
