/** `GET /api/menu/`: the whole menu, put together from its records. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { always } from '#query/openapi/data-operation.ts';
import { Menu } from '#query/records/catalog.ts';

export default dataEndpoint({
  path: '/menu/',
  scopes: ['menu'],
  parameters: {},
  documentation: {
    operationId: 'getMenu',
    tag: 'Menu',
    summary: 'Get the menu',
    description:
      'All that the store sells now, composed: active categories that have an active product, in order, with their active products and the active options of these.',
    answer: always(Menu),
  },
  shows: ['category', 'product', 'option_group'],
  read: (view) => view.shared.menus.read(view),
});
