/** `GET /api/review/changes`: the store's reviews that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { ReviewSummary } from '#query/records/review.ts';

export default changesEndpoint({
  entity: 'review',
  scopes: ['crm'],
  operationId: 'followReviews',
  tag: 'Reviews',
  plural: 'reviews',
  type: ReviewSummary,
});
