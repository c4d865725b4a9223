/** The lists: the filters of each, and what they ask for. */
import { CAMPAIGN_STATUSES, campaignStatus } from '#shared/records/campaign.ts';
import { OrderSummary } from '#shared/records/order.ts';
import { Rating } from '#shared/records/review.ts';
import { orderFacets, reviewFacets } from '#shared/read-models/rank-tree/keys.ts';
import { dataEndpoint, type Route, routePlugin } from '../endpoints/data-endpoint.ts';
import { LISTS } from '../lists/lists.ts';
import { readList } from '../lists/read.ts';
import { conditionsOf, type Wanted } from '../lists/request.ts';
import { searchTerms } from '../lists/search-terms.ts';
import {
  createdRange,
  customerFilters,
  orderFilters,
  paging,
  updatedRange,
} from '../parameters/filters.ts';
import {
  flag,
  id,
  ofField,
  oneOf,
  optional,
  type Parameters,
  repeatable,
  type Values,
} from '../parameters/parameter.ts';
import { KINDS, type KindName, listOf, operationOn, pathOfKind } from '../records/kinds.ts';

interface ListEndpoint<P extends Parameters> {
  description: string;
  filters: P;
  links?: Readonly<Record<string, string>>;
  /** The kinds that the order of the list depends on, besides its own. */
  ordered?: readonly KindName[];
  /** What is asked for but the page. */
  ask?: (values: Values<P>) => Omit<Wanted, 'list'> & Partial<Wanted>;
}

function listEndpoint<P extends Parameters>(
  kind: KindName,
  { description, filters, links, ordered = [], ask }: ListEndpoint<P>,
): Route {
  const { scope, tag, summary } = KINDS[kind];
  return dataEndpoint({
    path: `${pathOfKind(kind)}/list`,
    scopes: [scope],
    parameters: { ...paging, ...filters },
    operationId: operationOn('list', tag),
    tag,
    summary: `List ${tag.toLowerCase()}`,
    description,
    answer: listOf(summary),
    ...(links !== undefined && { links }),
    dependsOn: [kind, ...ordered],
    read: (view, values) => {
      const { page, page_size: pageSize } = values as Values<typeof paging>;
      const where = conditionsOf(filters, values);
      return readList(view, { list: LISTS[kind], where, ...ask?.(values), page, pageSize });
    },
  });
}

const customerOrderFilters = {
  ...orderFilters,
  customer_id: ofField(
    optional(id, {
      description:
        'Only orders that name this customer, whether or not there still is a record of them. Of a customer with many ' +
        'thousand orders, counting them takes longer than in other lists.',
      example: 'c204',
    }),
  ),
};

/** Orders of everybody, those that name a customer, or one customer's. */
function ordersOf(
  whom: 'anyone' | 'a customer' | 'one customer',
  { status, order_type: type, ...bounds }: Values<typeof orderFilters>,
): Wanted {
  const facets = orderFacets(status, type, whom !== 'anyone');
  if (whom !== 'one customer') return { list: LISTS.order, facets, bounds };
  // Each order of a customer names one. Without the condition on facets an index alone counts and
  // skips them.
  const isFiltered = status.length > 0 || type.length > 0;
  return { list: LISTS.ordersOfCustomer, facets: isFiltered ? facets : null, bounds };
}

export default routePlugin([
  listEndpoint('campaign', {
    description: 'The campaigns of the store, newest first.',
    filters: {
      status: ofField(
        repeatable(oneOf(CAMPAIGN_STATUSES, campaignStatus.answer), {
          description: 'Only campaigns with this status. Repeat it for several.',
        }),
      ),
    },
    links: { getCampaign: 'campaign_id' },
  }),
  listEndpoint('category', {
    description: 'The categories of the store, active or not, by position, then by name.',
    filters: {},
    links: { getCategory: 'category_id', listProducts: 'category_id' },
  }),
  listEndpoint('coupon', {
    description: 'The coupons of the store, newest first.',
    filters: {
      active: ofField(
        optional(flag, {
          description: 'Only active coupons (`true`), or only inactive ones (`false`).',
        }),
      ),
    },
    links: { getCoupon: 'coupon_id' },
  }),
  listEndpoint('customer', {
    description: 'The customers of the store by name: compared without accents and letter case.',
    filters: customerFilters,
    links: { listCustomerOrders: 'customer_id' },
    ask: ({ search, ...bounds }) => ({
      bounds,
      search: search === null ? null : searchTerms(search),
    }),
  }),
  listEndpoint('option_group', {
    description:
      'The option groups of the store with their options, by name: compared without accents and letter case.',
    filters: {},
  }),
  listEndpoint('order', {
    description: 'The orders of the store, newest first. To follow them, use `/api/order/changes`.',
    filters: orderFilters,
    links: { getOrder: 'order_id' },
    ask: (values) => ordersOf('anyone', values),
  }),
  listEndpoint('product', {
    description:
      'The products of the store, active or not: by the position of their category (those without a known one last), ' +
      'then by their own, then by name.',
    filters: {
      category_id: ofField(
        optional(id, { description: 'Only products that name this category.', example: 'k1' }),
      ),
      ...updatedRange,
    },
    links: { getProduct: 'product_id' },
    // A category that moves changes the order of products.
    ordered: ['category'],
    ask: ({ category_id: category, ...bounds }) => ({
      list: category === null ? LISTS.product : LISTS.productsOfCategory,
      bounds,
    }),
  }),
  listEndpoint('review', {
    description: 'The reviews of the store, newest first.',
    filters: {
      rating: repeatable(oneOf(['1', '2', '3', '4', '5'], Rating), {
        description: 'Only reviews with this rating. Repeat it for several: `rating=1&rating=2`.',
      }),
      ...createdRange,
    },
    links: { getReview: 'review_id' },
    ask: ({ rating, ...bounds }) => ({ facets: reviewFacets(rating), bounds }),
  }),
  dataEndpoint({
    path: '/api/customer/order-list/',
    scopes: ['crm', 'order'],
    parameters: { ...paging, ...customerOrderFilters },
    operationId: 'listCustomerOrders',
    tag: 'Customers',
    summary: 'List the orders of customers',
    description:
      'The orders that name a customer, newest first; with `customer_id` those of one customer. An id that no order ' +
      'names gives an empty list.',
    answer: listOf(OrderSummary),
    links: { getOrder: 'order_id' },
    dependsOn: ['order'],
    read: (view, { page, page_size: pageSize, ...values }) => {
      const wanted = ordersOf(values.customer_id === null ? 'a customer' : 'one customer', values);
      const where = conditionsOf(customerOrderFilters, values);
      return readList(view, { ...wanted, where, page, pageSize });
    },
  }),
]);
