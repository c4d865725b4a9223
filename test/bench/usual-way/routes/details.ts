/** Usual details: finds a record by its id, and related records by further queries. */
import type { FastifyInstance } from 'fastify';
import type { Db, Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { localize, type Shift } from '../documents.ts';
import * as schemas from '../schemas.ts';

interface Details {
  path: string;
  collection: string;
  parameter: string;
  schema: object;
  dates: readonly string[];
  /** Adds related records to a document. */
  complete?: (document: Document, db: Db, shift: Shift) => Promise<void> | void;
}

const CREATED_AND_UPDATED = ['created_at', 'updated_at'];

const DETAILS: readonly Details[] = [
  {
    path: '/api/order/details/',
    collection: COLLECTIONS.order,
    parameter: 'order_id',
    schema: schemas.wholeOrder,
    dates: ['scheduled_for', ...CREATED_AND_UPDATED],
    complete: (order, _db, shift) => {
      if (order['delivery'] !== null) localize(order['delivery'], ['estimated_at'], shift);
      if (order['cancellation'] !== null) localize(order['cancellation'], ['at'], shift);
      for (const step of order['status_history']) localize(step, ['at'], shift);
    },
  },
  {
    path: '/api/product/details/',
    collection: COLLECTIONS.product,
    parameter: 'product_id',
    schema: schemas.wholeProduct,
    dates: CREATED_AND_UPDATED,
    complete: async (product, db) => {
      const ids = product['option_group_ids'] as string[];
      const groups = await db
        .collection<{ _id: string }>(COLLECTIONS.option_group)
        .find({ _id: { $in: ids.map((id) => `${product['store_id']}/${id}`) } })
        .toArray();
      const byId = new Map(groups.map((group) => [group._id, group]));
      product['option_groups'] = ids.flatMap(
        (id) => byId.get(`${product['store_id']}/${id}`) ?? [],
      );
    },
  },
];

export function addDetails(
  app: FastifyInstance,
  db: Db,
  shiftOf: (storeId: string) => Promise<Shift>,
): void {
  app.get(
    '/api/store/info/',
    { schema: { response: { 200: schemas.store } } },
    async ({ storeId }) => {
      const shift = await shiftOf(storeId);
      const found = await db
        .collection<{ _id: string }>(COLLECTIONS.store)
        .findOne({ _id: `${storeId}/${storeId}` });
      return localize(present(found), CREATED_AND_UPDATED, shift);
    },
  );
  for (const { path, collection, parameter, schema, dates, complete } of DETAILS) {
    const querystring = {
      type: 'object',
      required: [parameter],
      properties: { [parameter]: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' } },
    };
    app.get<{ Querystring: Record<string, string> }>(
      path,
      { schema: { querystring, response: { 200: schema } } },
      async ({ query, storeId }) => {
        const shift = await shiftOf(storeId);
        const _id = `${storeId}/${query[parameter]}`;
        const found = await db
          .collection<{ _id: string }>(collection)
          .findOne({ _id, store_id: storeId });
        const document = localize(present(found), dates, shift);
        await complete?.(document, db, shift);
        return document;
      },
    );
  }
}

function present(document: Document | null): Document {
  if (document === null)
    throw Object.assign(new Error('there is no such record'), { statusCode: 404 });
  return document;
}
