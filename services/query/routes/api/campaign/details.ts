/** `GET /api/campaign/details/`: one campaign, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['crm'],
  parameters: { campaign_id: required(id) },
  shows: ['campaign'],
  read: (view, { campaign_id: campaignId }) => readRecord(view, COLLECTIONS.campaign, campaignId, 'whole'),
});
