/**
 * What change feeds show: the one description of the kinds, from which the paths, their documentation and their answers are made (rule
 * R10.1).
 * What a feed shows of a record is stored with it, and nothing is joined: it changes only when the record does.
 */
import type { EntityName } from '#shared/events/entities.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { ProductDocument, CategoryDocument } from '#shared/read-models/collections.ts';
import { CategoryRecord, ProductRecord } from '../records/catalog.ts';
import type { Reference } from '../records/fields.ts';
import { KINDS } from '../records/kinds.ts';
import { Campaign, Coupon, Order, Review, StoreInfo } from '../records/store.ts';
import { SHAPES } from '../read/shapes.ts';

/** How much of a record is shown. */
export const RECORDS = ['summary', 'whole'] as const;
export type Records = (typeof RECORDS)[number];

export interface FeedKind {
  scope: Scope;
  tag: 'Store' | (typeof KINDS)[keyof typeof KINDS]['tag'];
  summary: Reference;
  whole: Reference;
  /** The fields of a document that the whole record is made of, and its JSON; without them `summary` is all. */
  parts?: { fields: readonly string[]; json: (row: object) => string };
}

const STORED_WHOLE = { fields: ['whole'], json: (row: object) => (row as { whole: string }).whole };

/** In the order in which they are documented. */
export const FEED_KINDS: Readonly<Record<EntityName, FeedKind>> = {
  store: { scope: 'store', tag: 'Store', summary: StoreInfo, whole: StoreInfo },
  order: {
    ...KINDS.order,
    whole: Order,
    parts: {
      fields: ['summary', 'whole'],
      json: (row) => SHAPES.order.bodyOf(row) ?? '',
    },
  },
  customer: { ...KINDS.customer, whole: KINDS.customer.summary },
  review: { ...KINDS.review, whole: Review, parts: STORED_WHOLE },
  campaign: { ...KINDS.campaign, whole: Campaign, parts: STORED_WHOLE },
  coupon: { ...KINDS.coupon, whole: Coupon, parts: STORED_WHOLE },
  category: {
    ...KINDS.category,
    whole: CategoryRecord,
    parts: {
      fields: ['summary', 'dates'],
      json: (row) => {
        const { summary, dates } = row as CategoryDocument;
        return `${summary.slice(0, -1)},${dates}}`;
      },
    },
  },
  product: {
    ...KINDS.product,
    whole: ProductRecord,
    parts: {
      fields: ['summary', 'before_groups', 'option_group_ids', 'after_groups'],
      json: (row) => {
        const { summary, before_groups, option_group_ids, after_groups } = row as ProductDocument;
        const ids = JSON.stringify(option_group_ids);
        return `${summary.slice(0, -1)},${before_groups},"option_group_ids":${ids},${after_groups}}`;
      },
    },
  },
  option_group: { ...KINDS.option_group, whole: KINDS.option_group.summary },
};

export const ALL_KINDS = Object.keys(FEED_KINDS) as readonly EntityName[];

/** How paths, parameters and entries name a kind. */
export function nameOfKind(entity: EntityName): string {
  return entity.replace('_', '-');
}

/** What one request follows. */
export interface Feed {
  /** Names the path, the kinds and the records: cursors are bound to it. */
  name: string;
  /** In the order of `ALL_KINDS`. */
  kinds: readonly EntityName[];
  records: Records;
}

/** The feed of one kind's own path. Summaries have the name that cursors had before there were whole records. */
export function feedOfKind(entity: EntityName, records: Records): Feed {
  return { name: records === 'summary' ? entity : `${entity}/${records}`, kinds: [entity], records };
}

/** The feed of several kinds. @param kinds in the order of `ALL_KINDS`. */
export function feedOfKinds(kinds: readonly EntityName[], records: Records): Feed {
  return { name: `${kinds.join('+')}/several/${records}`, kinds, records };
}

/** The kinds of a feed, as a request names them: all where it names none. */
export function kindsNamed(names: readonly string[]): readonly EntityName[] {
  return names.length === 0 ? ALL_KINDS : ALL_KINDS.filter((entity) => names.includes(nameOfKind(entity)));
}
