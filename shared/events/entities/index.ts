/** Every entity of the changes topic with the schema of its state. A new entity is one file and one line here. */
import type { Type } from 'typebox';
import { CampaignState } from './campaign.ts';
import { CategoryState } from './category.ts';
import { CouponState } from './coupon.ts';
import { CustomerState } from './customer.ts';
import { OptionGroupState } from './option-group.ts';
import { OrderState } from './order.ts';
import { ProductState } from './product.ts';
import { ReviewState } from './review.ts';
import { StoreState } from './store.ts';

export const entitySchemas = {
  store: StoreState,
  coupon: CouponState,
  customer: CustomerState,
  review: ReviewState,
  campaign: CampaignState,
  order: OrderState,
  category: CategoryState,
  product: ProductState,
  option_group: OptionGroupState,
} as const;

/** The state type of each entity. */
export type EntityStates = { [E in keyof typeof entitySchemas]: Type.Static<(typeof entitySchemas)[E]> };

export type EntityName = keyof EntityStates;

export const ENTITY_NAMES = Object.keys(entitySchemas) as EntityName[];
