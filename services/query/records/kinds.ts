/**
 * The kinds of records that have a list: their scope and tag, and the record as its list shows it.
 * Change feeds: `feed/kinds.ts`.
 */
import {
  arrayOf,
  COMPONENT,
  described,
  record,
  type Reference,
  Whole,
} from '#shared/records/answer.ts';
import { CampaignSummary } from '#shared/records/campaign.ts';
import { CategorySummary, OptionGroup, ProductSummary } from '#shared/records/catalog.ts';
import { CouponSummary } from '#shared/records/coupon.ts';
import { Customer } from '#shared/records/customer.ts';
import { OrderSummary } from '#shared/records/order.ts';
import { ReviewSummary } from '#shared/records/review.ts';

export const KINDS = {
  campaign: { scope: 'crm', tag: 'Campaigns', summary: CampaignSummary },
  category: { scope: 'menu', tag: 'Categories', summary: CategorySummary },
  coupon: { scope: 'store', tag: 'Coupons', summary: CouponSummary },
  customer: { scope: 'crm', tag: 'Customers', summary: Customer },
  option_group: { scope: 'menu', tag: 'Option groups', summary: OptionGroup },
  order: { scope: 'order', tag: 'Orders', summary: OrderSummary },
  product: { scope: 'menu', tag: 'Products', summary: ProductSummary },
  review: { scope: 'crm', tag: 'Reviews', summary: ReviewSummary },
} as const;

export type KindName = keyof typeof KINDS;

/** The name of an operation on records with a tag, such as `listOptionGroups`. */
export function operationOn(verb: string, tag: string): string {
  return `${verb}${tag.replace(' g', 'G')}`;
}

/** Where the endpoints of a kind lie. */
export function pathOfKind(kind: KindName): string {
  return `/api/${kind.replace('_', '-')}`;
}

/** A page of records of one kind: the envelope of lists (rule R6.1). */
export function listOf(type: Reference): Reference {
  const { name, example } = type[COMPONENT];
  return record(
    `${name}List`,
    'One page of records, and how many there are on all pages.',
    {
      count: described(
        Whole,
        'How many records match the filters, on all pages: there are ceil(count / page_size) pages.',
      ),
      page: {
        type: 'integer',
        format: 'int64',
        minimum: 1,
        description: 'The number of this page.',
      },
      page_size: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        description: 'The applied page size, at most 100.',
      },
      results: {
        ...arrayOf(type, 'The records of the page; empty beyond the last page.'),
        maxItems: 100,
      },
    },
    { count: 1, page: 1, page_size: 20, results: [example] },
  );
}
