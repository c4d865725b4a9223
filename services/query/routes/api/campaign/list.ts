/** `GET /api/campaign/list`: the store's campaigns, newest first. */
import { CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { listEndpoint } from '#query/list-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { anyOf, NEWEST_FIRST } from '#query/reading/list-request.ts';
import { CampaignStatus } from '#query/records/campaign.ts';

export default listEndpoint('campaign', {
  description: 'The campaigns of the store, newest first.',
  filters: {
    status: repeatable(oneOf(CAMPAIGN_STATUSES, CampaignStatus), {
      description: 'Only campaigns with this status. Repeat it for several.',
    }),
  },
  links: [{ operationId: 'getCampaign', parameter: 'campaign_id', from: '/results/0/id' }],
  ask: ({ status }) => ({ where: anyOf('status', status), sort: NEWEST_FIRST }),
});
