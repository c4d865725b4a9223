/** `GET /api/review/list`: the store's reviews, newest first. */
import { reviewFacets } from '#shared/read-models/rank-tree/facets.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { listEndpoint } from '#query/list-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { inOrderOf } from '#query/reading/list-request.ts';
import { createdBetween, createdRange } from '#query/reading/range.ts';
import { Rating } from '#query/records/review.ts';

export default listEndpoint('review', {
  description: 'The reviews of the store, newest first.',
  filters: {
    rating: repeatable(oneOf(['1', '2', '3', '4', '5'], Rating), {
      description: 'Only reviews with this rating. Repeat it for several: `rating=1&rating=2`.',
    }),
    ...createdRange,
  },
  links: [{ operationId: 'getReview', parameter: 'review_id', from: '/results/0/id' }],
  ask: ({ rating, ...created }) => ({
    ...inOrderOf(RANK_TREES.review),
    facets: reviewFacets(rating),
    created: createdBetween(created),
    createdKey: 'rank_key',
  }),
});
