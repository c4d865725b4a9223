/** `GET /api/<kind>/changes`: the records of a kind that changed, with the scopes of the kind's list. */
import type { FastifyInstance } from 'fastify';
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { CampaignSummary } from '#query/records/campaign.ts';
import { CategorySummary } from '#query/records/category.ts';
import { CouponSummary } from '#query/records/coupon.ts';
import { Customer } from '#query/records/customer.ts';
import { OptionGroup } from '#query/records/option-group.ts';
import { OrderSummary } from '#query/records/order.ts';
import { ProductSummary } from '#query/records/product.ts';
import { ReviewSummary } from '#query/records/review.ts';

/** Of each kind its entity, scope and tag, and the record as its list shows it. */
const FEEDS = [
  ['campaign', 'crm', 'Campaigns', CampaignSummary],
  ['category', 'menu', 'Categories', CategorySummary],
  ['coupon', 'store', 'Coupons', CouponSummary],
  ['customer', 'crm', 'Customers', Customer],
  ['option_group', 'menu', 'Option groups', OptionGroup],
  ['order', 'order', 'Orders', OrderSummary],
  ['product', 'menu', 'Products', ProductSummary],
  ['review', 'crm', 'Reviews', ReviewSummary],
] as const;

export default async function changes(app: FastifyInstance): Promise<void> {
  for (const [entity, scope, tag, type] of FEEDS) {
    const operationId = `follow${tag.replace(' g', 'G')}`;
    const feed = changesEndpoint({
      entity,
      scopes: [scope],
      operationId,
      tag,
      plural: tag.toLowerCase(),
      type,
    });
    await app.register(feed, { prefix: `/${entity.replace('_', '-')}` });
  }
}
