/** `GET /api/option-group/changes`: the store's option groups that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { OptionGroup } from '#query/records/option-group.ts';

export default changesEndpoint({
  entity: 'option_group',
  scopes: ['menu'],
  operationId: 'followOptionGroups',
  tag: 'Option groups',
  plural: 'option groups',
  type: OptionGroup,
});
