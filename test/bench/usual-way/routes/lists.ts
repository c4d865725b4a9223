/** Usual lists: find with skip and limit, while another command counts all matches. */
import type { FastifyInstance } from 'fastify';
import type { Db, Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { digitsOf, foldName } from '#shared/read-models/search-texts.ts';
import { localize, type Shift } from '../documents.ts';
import * as schemas from '../schemas.ts';

interface Query {
  page: number;
  page_size: number;
  search?: string;
  created_from?: string;
  created_to?: string;
  status?: string[];
  order_type?: string[];
  rating?: number[];
  customer_id?: string;
}

interface List {
  path: string;
  collection: string;
  record: { properties: Record<string, unknown> };
  sort: Record<string, 1 | -1>;
  filter?: (query: Query, shift: Shift) => Document;
}

const NEWEST_FIRST = { created_at: -1, _id: 1 } as const;
const ORDERS = {
  path: '/api/order/list',
  collection: COLLECTIONS.order,
  record: schemas.order,
  sort: NEWEST_FIRST,
  filter: orders,
};

const LISTS: readonly List[] = [
  {
    path: '/api/customer/list',
    collection: COLLECTIONS.customer,
    record: schemas.customer,
    sort: { name_key: 1, _id: 1 },
    filter: ({ search }) => (search === undefined ? {} : searched(search)),
  },
  {
    path: '/api/review/list',
    collection: COLLECTIONS.review,
    record: schemas.review,
    sort: NEWEST_FIRST,
    filter: ({ rating }) => (rating === undefined ? {} : { rating: { $in: rating } }),
  },
  ORDERS,
  {
    ...ORDERS,
    path: '/api/customer/order-list/',
    filter: (query, shift) => ({
      'customer.id': query.customer_id ?? { $ne: null },
      ...orders(query, shift),
    }),
  },
  {
    path: '/api/product/list',
    collection: COLLECTIONS.product,
    record: schemas.product,
    sort: { category_position: 1, position: 1, name: 1, _id: 1 },
  },
];

function orders({ status, order_type: types, ...query }: Query, shift: Shift): Document {
  return {
    ...(status === undefined ? {} : { status: { $in: status } }),
    ...(types === undefined ? {} : { order_type: { $in: types } }),
    ...createdWithin(query, shift),
  };
}

/** Matches a part of the name, or for a number a part of the document's or phone's digits. */
function searched(text: string): Document {
  const name = { name_key: { $regex: RegExp.escape(foldName(text)) } };
  if (!/^[\s+\-./()0-9]*[0-9][\s+\-./()0-9]*$/.test(text)) return name;
  const digits = { $regex: digitsOf(text) };
  return { $or: [name, { document_digits: digits }, { phone_digits: digits }] };
}

function createdWithin({ created_from: from, created_to: to }: Query, shift: Shift): Document {
  if (from === undefined && to === undefined) return {};
  const instant = (local: string, more: number) => new Date(Date.parse(`${local}Z`) - shift + more);
  return {
    created_at: {
      ...(from === undefined ? {} : { $gte: instant(from, 0) }),
      ...(to === undefined ? {} : { $lt: instant(to, 1_000) }),
    },
  };
}

const words = { type: 'array', items: { type: 'string' } };
const querystring = {
  type: 'object',
  properties: {
    page: { type: 'integer', minimum: 1, default: 1 },
    page_size: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    search: { type: 'string', minLength: 1, maxLength: 100 },
    created_from: { type: 'string' },
    created_to: { type: 'string' },
    status: words,
    order_type: words,
    rating: { type: 'array', items: { type: 'integer' } },
    customer_id: { type: 'string' },
  },
};

export function addLists(
  app: FastifyInstance,
  db: Db,
  shiftOf: (storeId: string) => Promise<Shift>,
): void {
  for (const { path, collection, record, sort, filter } of LISTS) {
    const projection = {
      _id: 0,
      ...Object.fromEntries(Object.keys(record.properties).map((name) => [name, 1])),
    };
    const response = { 200: schemas.pageOf({ type: 'object', ...record }) };
    app.get<{ Querystring: Query }>(
      path,
      { schema: { querystring, response } },
      async ({ query, storeId }) => {
        const { page, page_size: pageSize } = query;
        const shift = await shiftOf(storeId);
        const which = { store_id: storeId, ...filter?.(query, shift) };
        const [results, count] = await Promise.all([
          db
            .collection(collection)
            .find(which, { projection })
            .sort(sort)
            .skip((page - 1) * pageSize)
            .limit(pageSize)
            .toArray(),
          db.collection(collection).countDocuments(which),
        ]);
        return {
          count,
          page,
          page_size: pageSize,
          results: results.map((document) => localize(document, shift)),
        };
      },
    );
  }
}
