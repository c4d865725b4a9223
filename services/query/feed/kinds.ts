/**
 * The kinds of change feeds: paths, documentation and answers are made from this one description
 * (rule R10.1). A feed shows only what is stored with the record, without a join: it changes only
 * when the record does.
 */
import type { EntityName } from '#shared/events/entities.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { ProductDocument, CategoryDocument } from '#shared/read-models/collections.ts';
import { CategoryRecord, ProductRecord } from '#shared/records/catalog.ts';
import { MAX_CHANGES } from '../parameters/filters.ts';
import { cursor } from '../parameters/parameter.ts';
import {
  arrayOf,
  COMPONENT,
  described,
  Flag,
  Id,
  part,
  record,
  type Reference,
  type Schema,
  TimezoneOffset,
} from '#shared/records/answer.ts';
import { KINDS } from '../records/kinds.ts';
import { Campaign } from '#shared/records/campaign.ts';
import { Coupon } from '#shared/records/coupon.ts';
import { Order } from '#shared/records/order.ts';
import { Review } from '#shared/records/review.ts';
import { StoreInfo } from '#shared/records/store.ts';
import { SHAPES } from '../read/shapes.ts';

/** The parameter `records`. */
export const RECORDS = ['summary', 'whole'] as const;
export type Records = (typeof RECORDS)[number];

interface FeedKind {
  scope: Scope;
  tag: 'Store' | (typeof KINDS)[keyof typeof KINDS]['tag'];
  summary: Reference;
  whole: Reference;
  /** The fields that make the whole record, and its JSON. Without them the summary is the whole. */
  parts?: { fields: readonly string[]; json: (row: object) => string };
}

const STORED_WHOLE = { fields: ['whole'], json: (row: object) => (row as { whole: string }).whole };

/** In the order of the documentation. */
export const FEED_KINDS: Readonly<Record<EntityName, FeedKind>> = {
  store: { scope: 'store', tag: 'Store', summary: StoreInfo, whole: StoreInfo },
  order: {
    ...KINDS.order,
    whole: Order,
    parts: { fields: ['summary', 'whole'], json: (row) => SHAPES.order.bodyOf(row) ?? '' },
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

/** The kind's name in paths, parameters and entries. */
export function nameOfKind(entity: EntityName): string {
  return entity.replace('_', '-');
}

export interface Feed {
  /** Names path, kinds and records: cursors are bound to it. */
  name: string;
  /** In the order of `ALL_KINDS`. */
  kinds: readonly EntityName[];
  records: Records;
}

/**
 * The feed of one kind's own path. The name of summaries is that of older cursors, which stay
 * valid.
 */
export function feedOfKind(entity: EntityName, records: Records): Feed {
  return {
    name: records === 'summary' ? entity : `${entity}/${records}`,
    kinds: [entity],
    records,
  };
}

/** The feed of several kinds. @param kinds in the order of `ALL_KINDS`. */
export function feedOfKinds(kinds: readonly EntityName[], records: Records): Feed {
  return { name: `${kinds.join('+')}/several/${records}`, kinds, records };
}

/** The kinds that a request names; all if it names none. */
export function kindsNamed(names: readonly string[]): readonly EntityName[] {
  return names.length === 0
    ? ALL_KINDS
    : ALL_KINDS.filter((entity) => names.includes(nameOfKind(entity)));
}

/** The answer with changes of records of one kind. */
export function changesOf(kind: EntityName): Reference {
  const { summary } = FEED_KINDS[kind];
  const changed = exampleOf(kind);
  const deleted = { ...changed, id: `${changed.id}-2`, deleted: true, record: null };
  // A store has a single record of its own.
  const examples = kind === 'store' ? [changed] : [changed, deleted];
  return envelope(`${summary[COMPONENT].name}Changes`, changeOf(kind), examples);
}

/** The answer with changes of records of several kinds. */
export function changesOfKinds(kinds: readonly EntityName[]): Reference {
  const change = {
    anyOf: kinds.map(changeOf),
    title: 'Change',
    description: 'The newest state of a record that changed, with its `kind`.',
  };
  return envelope('Changes', change, kinds.slice(0, 2).map(exampleOf));
}

function exampleOf(kind: EntityName) {
  const { example = {} } = FEED_KINDS[kind].summary[COMPONENT];
  return { kind: nameOfKind(kind), id: example.id ?? '', deleted: false, record: example };
}

function changeOf(kind: EntityName): Reference {
  const { summary, whole } = FEED_KINDS[kind];
  const isSame = summary === whole;
  return part(`${summary[COMPONENT].name}Change`, 'The newest state of a record that changed.', {
    kind: { type: 'string', const: nameOfKind(kind), description: 'The kind of the record.' },
    id: Id,
    deleted: described(
      Flag,
      'Whether the record is deleted. If it is created again, it is delivered again.',
    ),
    record: {
      // The first that fits counts for generated clients, and a whole record fits its open summary
      // too.
      anyOf: [...(isSame ? [] : [whole]), summary, { type: 'null' }],
      description: `The record${isSame ? '' : ', as `records` asks for it'}; \`null\` if it is deleted.`,
    },
  });
}

function envelope(title: string, change: Schema, results: readonly object[]): Reference {
  return record(
    title,
    'Records that changed, each at its newest state, in the order in which their last changes took effect here.',
    {
      results: {
        ...arrayOf(change, 'The changes after `after`, oldest first, each record at most once.'),
        maxItems: MAX_CHANGES,
      },
      timezone_offset: described(
        TimezoneOffset,
        'The offset in which the date-times of these records are given. A store that moves to another offset changes no other record: ' +
          'read the date-times that you have kept with the offset that they came with.',
      ),
      next: described(
        cursor.schema,
        'Where to continue, as `after`. Store it together with what you make of the results. It does not expire.',
      ),
      more: described(
        Flag,
        '`true`: there are more changes, ask again at once. `false`: this is all for now.',
      ),
    },
    {
      results,
      timezone_offset: '-03:00',
      next: 'AWxvOZ8yZ0fkKD3m2vVbU0qkq3tXcA6wAAAAAABiAAAAAABiAAAA',
      more: false,
    },
  );
}
