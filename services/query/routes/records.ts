/**
 * The endpoints of one record: details of a kind, whole, with the scope of the kind's list; the
 * store's own record; the menu.
 */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint, type Route, routePlugin } from '../endpoints/data-endpoint.ts';
import { id, required } from '../parameters/parameter.ts';
import { type Shape, SHAPES } from '../read/shapes.ts';
import { readRecord } from '../read/shared-reads.ts';
import { Category, Menu, Product } from '#shared/records/catalog.ts';
import { COMPONENT, type Reference } from '#shared/records/answer.ts';
import { KINDS, type KindName, pathOfKind } from '../records/kinds.ts';
import { Campaign } from '#shared/records/campaign.ts';
import { Coupon } from '#shared/records/coupon.ts';
import { Order } from '#shared/records/order.ts';
import { Review } from '#shared/records/review.ts';
import { StoreInfo } from '#shared/records/store.ts';

interface Details {
  schema: Reference;
  /** Where clients find ids. */
  named: string;
  description: string;
  /** Other kinds that the answer shows. */
  joined?: readonly KindName[];
}

function detailsOf(kind: KindName, { schema, named, description, joined = [] }: Details): Route {
  const parameter = `${kind}_id`;
  const shape = kind in SHAPES ? (kind as Shape) : 'whole';
  return dataEndpoint({
    path: `${pathOfKind(kind)}/details/`,
    scopes: [KINDS[kind].scope],
    parameters: {
      [parameter]: required(id, {
        description: `The ${kind}, as ${named} name it.`,
        example: schema[COMPONENT].example?.id ?? '',
      }),
    },
    operationId: `get${kind.replace(/^./, (letter) => letter.toUpperCase())}`,
    tag: KINDS[kind].tag,
    summary: `Get ${kind === 'order' ? 'an' : 'a'} ${kind}`,
    description,
    answer: schema,
    mayBeMissing: true,
    dependsOn: [kind, ...joined],
    read: (view, values) => readRecord(view, COLLECTIONS[kind], values[parameter] ?? '', shape),
  });
}

export default routePlugin([
  detailsOf('campaign', {
    schema: Campaign,
    named: 'lists',
    description: 'One campaign, with its message and results.',
  }),
  detailsOf('category', {
    schema: Category,
    named: 'lists and products',
    description: 'One category, with the number of its products.',
    joined: ['product'],
  }),
  detailsOf('coupon', {
    schema: Coupon,
    named: 'lists and orders',
    description: 'One coupon, with its limits and how often it was used.',
  }),
  detailsOf('order', {
    schema: Order,
    named: 'lists and reviews',
    description: 'One order, with its items, delivery, payments and status history.',
  }),
  detailsOf('product', {
    schema: Product,
    named: 'lists and orders',
    description: 'One product, with its option groups.',
    joined: ['option_group'],
  }),
  detailsOf('review', {
    schema: Review,
    named: 'lists',
    description: 'One review, with the store’s reply.',
  }),
  dataEndpoint({
    path: '/api/store/info/',
    scopes: ['store'],
    parameters: {},
    operationId: 'getStoreInfo',
    tag: 'Store',
    summary: 'Get the store',
    description:
      'The store that the key belongs to. Its `timezone_offset` says how to read every date-time of this API. 404 ' +
      'until the store’s own record has arrived.',
    answer: StoreInfo,
    mayBeMissing: true,
    dependsOn: ['store'],
    read: (view) => readRecord(view, COLLECTIONS.store, view.storeId, 'summary'),
  }),
  dataEndpoint({
    path: '/api/menu/',
    scopes: ['menu'],
    parameters: {},
    operationId: 'getMenu',
    tag: 'Menu',
    summary: 'Get the menu',
    description:
      'Everything that the store sells now, composed: active categories that have an active product, in order, with their ' +
      'active products and the active options of these.',
    answer: Menu,
    dependsOn: ['category', 'product', 'option_group'],
    read: (view, _values, { readMenu }) => readMenu(view),
  }),
]);
