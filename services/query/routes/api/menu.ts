/** `GET /api/menu/`: the whole menu, composed by the projector. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { readMenu } from '#query/reading/menu.ts';

export default dataEndpoint({
  path: '/menu/',
  scopes: ['menu'],
  parameters: {},
  shows: ['category', 'product', 'option_group'],
  read: (view) => readMenu(view),
});
