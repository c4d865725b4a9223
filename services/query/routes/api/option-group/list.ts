/** `GET /api/option-group/list`: the store's option groups with their options, by folded name. */
import { listEndpoint } from '#query/list-endpoint.ts';

export default listEndpoint('option_group', {
  description:
    'The option groups of the store with their options, by name: compared without accents and letter case.',
  filters: {},
  ask: () => ({ sort: { name_key: 1, _id: 1 } }),
});
