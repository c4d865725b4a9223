/** `GET /api/campaign/details/`: one campaign, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Campaign } from '#query/records/campaign.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['crm'],
  parameters: {
    campaign_id: required(id, { description: 'The campaign, as lists name it.', example: 'm12' }),
  },
  documentation: {
    operationId: 'getCampaign',
    tag: 'Campaigns',
    summary: 'Get a campaign',
    description: 'One campaign, with its message and what came of it.',
    answer: one(Campaign),
  },
  shows: ['campaign'],
  read: (view, { campaign_id: campaignId }) => readRecord(view, COLLECTIONS.campaign, campaignId, 'whole'),
});
