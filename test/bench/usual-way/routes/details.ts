/** Usual details: finds a record by its id, and related records by further queries. */
import type { FastifyInstance } from 'fastify';
import type { Db, Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { localize, type Shift } from '../documents.ts';
import * as schemas from '../schemas.ts';

interface Details {
  path: string;
  collection: string;
  /** Absent for the store itself. */
  parameter?: string;
  schema: object;
  /** Adds related records to a document. */
  complete?: (document: Document, db: Db) => Promise<void>;
}

const DETAILS: readonly Details[] = [
  { path: '/api/store/info/', collection: COLLECTIONS.store, schema: schemas.store },
  {
    path: '/api/order/details/',
    collection: COLLECTIONS.order,
    parameter: 'order_id',
    schema: schemas.wholeOrder,
  },
  {
    path: '/api/product/details/',
    collection: COLLECTIONS.product,
    parameter: 'product_id',
    schema: schemas.wholeProduct,
    complete: async (product, db) => {
      const ids = product['option_group_ids'].map((id: string) => `${product['store_id']}/${id}`);
      const groups = await db
        .collection<{ _id: string }>(COLLECTIONS.option_group)
        .find({ _id: { $in: ids } })
        .toArray();
      product['option_groups'] = groups.toSorted((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
    },
  },
];

export function addDetails(
  app: FastifyInstance,
  db: Db,
  shiftOf: (storeId: string) => Promise<Shift>,
): void {
  for (const { path, collection, parameter = '', schema, complete } of DETAILS) {
    const querystring = {
      type: 'object',
      required: parameter === '' ? [] : [parameter],
      properties: { [parameter]: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' } },
    };
    app.get<{ Querystring: Record<string, string> }>(
      path,
      { schema: { querystring, response: { 200: schema } } },
      async ({ query, storeId }) => {
        const shift = await shiftOf(storeId);
        const _id = `${storeId}/${query[parameter] ?? storeId}`;
        const document = await db.collection<{ _id: string }>(collection).findOne({ _id });
        if (document === null)
          throw Object.assign(new Error('there is no such record'), { statusCode: 404 });
        await complete?.(document, db);
        return localize(document, shift);
      },
    );
  }
}
