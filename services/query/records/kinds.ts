/**
 * The kinds of records that have a list: their scope and tag, and the record as its list shows it. What change feeds show is in
 * `feed/kinds.ts`.
 */
import { CampaignSummary, Customer, ReviewSummary } from './crm.ts';
import { CategorySummary, OptionGroup, ProductSummary } from './catalog.ts';
import { CouponSummary } from './store.ts';
import { OrderSummary } from './order.ts';

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
