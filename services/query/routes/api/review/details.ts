/** `GET /api/review/details/`: one review, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['crm'],
  parameters: { review_id: required(id) },
  shows: ['review'],
  read: (view, { review_id: reviewId }) => readRecord(view, COLLECTIONS.review, reviewId, 'whole'),
});
