/** `GET /api/option-group/list`: the store's option groups with their options, by folded name. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { listRequest } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { paging } from '#query/reading/paging.ts';
import { OptionGroup } from '#query/records/option-group.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: paging,
  documentation: {
    operationId: 'listOptionGroups',
    tag: 'Option groups',
    summary: 'List option groups',
    description:
      'The option groups of the store with their options, by name: compared without accents and letter case.',
    answer: page(OptionGroup),
  },
  shows: ['option_group'],
  read: (view, { page, page_size: pageSize }) =>
    readList(
      view,
      listRequest({
        entity: 'option_group',
        sort: { name_key: 1, _id: 1 },
        page,
        pageSize,
      }),
    ),
});
