/** `GET /api/campaign/list`: the store's campaigns, newest first. */
import { CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { anyOf, listRequest, NEWEST_FIRST } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { paging } from '#query/reading/paging.ts';
import { CampaignStatus, CampaignSummary } from '#query/records/campaign.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: {
    ...paging,
    status: repeatable(oneOf(CAMPAIGN_STATUSES, CampaignStatus), {
      description: 'Only campaigns with this status. Repeat it for several.',
    }),
  },
  documentation: {
    operationId: 'listCampaigns',
    tag: 'Campaigns',
    summary: 'List campaigns',
    description: 'The campaigns of the store, newest first.',
    answer: page(CampaignSummary),
    links: [{ operationId: 'getCampaign', parameter: 'campaign_id', from: '/results/0/id' }],
  },
  shows: ['campaign'],
  read: (view, { page, page_size: pageSize, status }) =>
    readList(
      view,
      listRequest({
        entity: 'campaign',
        where: anyOf('status', status),
        sort: NEWEST_FIRST,
        page,
        pageSize,
      }),
    ),
});
