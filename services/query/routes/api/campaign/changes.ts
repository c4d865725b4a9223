/** `GET /api/campaign/changes`: the store's campaigns that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { CampaignSummary } from '#query/records/campaign.ts';

export default changesEndpoint({
  entity: 'campaign',
  scopes: ['crm'],
  operationId: 'followCampaigns',
  tag: 'Campaigns',
  plural: 'campaigns',
  type: CampaignSummary,
});
