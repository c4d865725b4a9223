/** `GET /api/campaign/list`: the store's campaigns, newest first. */
import { CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { oneOf } from '#query/parameters/kinds.ts';
import { repeatable } from '#query/parameters/parameter.ts';
import { anyOf, NEWEST_FIRST, readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: { ...paging, status: repeatable(oneOf(CAMPAIGN_STATUSES)) },
  shows: ['campaign'],
  read: (view, { page, page_size: pageSize, status }) =>
    readList(view, {
      collection: COLLECTIONS.campaign,
      filter: () => anyOf('status', status),
      sort: NEWEST_FIRST,
      page,
      pageSize,
    }),
});
