/** `GET /api/<kind>/details/`: one record of a kind, whole, with the scope of the kind's list. */
import type { FastifyInstance } from 'fastify';
import type { TSchema } from 'typebox';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { KINDS, type KindName } from '#query/kinds.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import type { Shape } from '#query/reading/shapes.ts';
import { Campaign } from '#query/records/campaign.ts';
import { Category, Product } from '#query/records/catalog.ts';
import { Coupon } from '#query/records/coupon.ts';
import { Order } from '#query/records/order.ts';
import { Review } from '#query/records/review.ts';

interface Details {
  schema: TSchema;
  shape: Shape;
  /** Where clients find ids, and one of them. */
  named: string;
  example: string;
  description: string;
  /** Other kinds that the answer shows. */
  joined?: KindName;
}

const DETAILS: Partial<Record<KindName, Details>> = {
  campaign: {
    schema: Campaign,
    shape: 'whole',
    named: 'lists',
    example: 'm12',
    description: 'One campaign, with its message and what came of it.',
  },
  category: {
    schema: Category,
    shape: 'category',
    named: 'lists and products',
    example: 'k1',
    description: 'One category, with the number of its products.',
    joined: 'product',
  },
  coupon: {
    schema: Coupon,
    shape: 'whole',
    named: 'lists and orders',
    example: 'k15',
    description: 'One coupon, with its limits and how often it was used.',
  },
  order: {
    schema: Order,
    shape: 'order',
    named: 'lists and reviews',
    example: 'o1001',
    description: 'One order, with its items, delivery, payments and the way it has made.',
  },
  product: {
    schema: Product,
    shape: 'product',
    named: 'lists and orders',
    example: 'p7',
    description: 'One product, with its option groups.',
    joined: 'option_group',
  },
  review: {
    schema: Review,
    shape: 'whole',
    named: 'lists',
    example: 'r310',
    description: 'One review, with what the store answered.',
  },
};

export default async function details(app: FastifyInstance): Promise<void> {
  for (const kind of Object.keys(KINDS) as KindName[]) {
    const found = DETAILS[kind];
    if (found === undefined) continue;
    const { schema, shape, named, example, description, joined } = found;
    const parameter = `${kind}_id`;
    const endpoint = dataEndpoint({
      path: `/${kind}/details/`,
      scopes: [KINDS[kind].scope],
      parameters: {
        [parameter]: required(id, { description: `The ${kind}, as ${named} name it.`, example }),
      },
      documentation: {
        operationId: `get${kind.replace(/^./, (letter) => letter.toUpperCase())}`,
        tag: KINDS[kind].tag,
        summary: `Get ${kind === 'order' ? 'an' : 'a'} ${kind}`,
        description,
        answer: one(schema),
      },
      shows: joined === undefined ? [kind] : [kind, joined],
      read: (view, values) => readRecord(view, COLLECTIONS[kind], values[parameter] ?? '', shape),
    });
    await app.register(endpoint);
  }
}
