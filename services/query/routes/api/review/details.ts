/** `GET /api/review/details/`: one review, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Review } from '#query/records/review.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['crm'],
  parameters: { review_id: required(id, { description: 'The review, as lists name it.', example: 'r310' }) },
  documentation: {
    operationId: 'getReview',
    tag: 'Reviews',
    summary: 'Get a review',
    description: 'One review, with what the store answered.',
    answer: one(Review),
  },
  shows: ['review'],
  read: (view, { review_id: reviewId }) => readRecord(view, COLLECTIONS.review, reviewId, 'whole'),
});
