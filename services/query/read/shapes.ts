/** The shapes of a record in an answer: as it is stored, or joined with other records. */
import type { Document } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  type OptionGroupDocument,
  type OrderDocument,
  type ProductDocument,
} from '#shared/read-models/collections.ts';

export interface ShapeReading {
  /** The stages, after the match, that leave `_id`, `offset` and the parts of the body. */
  stages: Document[];
  /** The JSON, with date-times in the document's offset; `undefined` if there is no such body. */
  bodyOf: (row: Document) => string | undefined;
}

export type Shape = 'summary' | 'whole' | 'order' | 'category' | 'product';

/** Each shape is read in one snapshot. */
export const SHAPES: Readonly<Record<Shape, ShapeReading>> = {
  summary: asStored('summary'),
  whole: asStored('whole'),
  order: {
    stages: [{ $project: { summary: 1, whole: 1, offset: 1 } }],
    bodyOf(row) {
      const { summary, whole } = row as Pick<OrderDocument, 'summary' | 'whole'>;
      // These match names of members only: a quote in a text has a backslash before it.
      const customer = summary.indexOf(',"customer":') + 1;
      const afterCustomer = summary.indexOf(',"item_count":');
      const items = whole.indexOf(',"items":');
      return `${summary.slice(0, customer)}${whole.slice(1, items)}${summary.slice(afterCustomer, -1)}${whole.slice(items)}`;
    },
  },
  category: {
    stages: [
      { $lookup: { from: CATEGORY_PRODUCTS, localField: '_id', foreignField: '_id', as: 'counts' } },
      { $project: { summary: 1, dates: 1, offset: 1, 'counts.products': 1 } },
    ],
    bodyOf(row) {
      const { summary, dates, counts } = row as CategoryRow;
      return `${summary.slice(0, -1)},${dates},"product_count":${counts[0]?.products ?? 0}}`;
    },
  },
  product: {
    stages: [
      { $set: { groups: { $map: { input: '$option_group_ids', in: { $concat: ['$store_id', '/', '$$this'] } } } } },
      {
        $lookup: {
          from: COLLECTIONS.option_group,
          localField: 'groups',
          foreignField: '_id',
          pipeline: [{ $project: { summary: 1 } }],
          as: 'found',
        },
      },
      { $project: { summary: 1, before_groups: 1, after_groups: 1, offset: 1, groups: 1, found: 1 } },
    ],
    bodyOf(row) {
      const { summary, before_groups, after_groups, groups, found } = row as ProductRow;
      const bodies = new Map(found.map((group) => [group._id, group.summary]));
      const shown = groups.flatMap((id) => bodies.get(id) ?? []).join(',');
      return `${summary.slice(0, -1)},${before_groups},"option_groups":[${shown}],${after_groups}}`;
    },
  },
};

type CategoryRow = Pick<CategoryDocument, 'summary' | 'dates'> & { counts: Pick<CategoryProducts, 'products'>[] };

type ProductRow = Pick<ProductDocument, 'summary' | 'before_groups' | 'after_groups'> & {
  /** Ids of documents, in the order of the product. */
  groups: string[];
  /** In no order. */
  found: Pick<OptionGroupDocument, '_id' | 'summary'>[];
};

function asStored(field: 'summary' | 'whole'): ShapeReading {
  return { stages: [{ $project: { [field]: 1, offset: 1 } }], bodyOf: (row) => row[field] as string | undefined };
}
