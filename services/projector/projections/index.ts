/** Every entity's projection. A new entity is one file and one line here. */
import type { EntityName } from '#shared/events/entities/index.ts';
import { campaignProjection } from './campaign.ts';
import { categoryProjection } from './category.ts';
import { couponProjection } from './coupon.ts';
import { customerProjection } from './customer.ts';
import { optionGroupProjection } from './option-group.ts';
import { orderProjection } from './order.ts';
import { productProjection } from './product.ts';
import type { Projection } from './projection.ts';
import { reviewProjection } from './review.ts';
import { storeProjection } from './store.ts';

export const projections: { [E in EntityName]: Projection<E> } = {
  store: storeProjection,
  coupon: couponProjection,
  customer: customerProjection,
  review: reviewProjection,
  campaign: campaignProjection,
  order: orderProjection,
  category: categoryProjection,
  product: productProjection,
  option_group: optionGroupProjection,
};

/** The projection of a change's entity. */
export function projectionOf<E extends EntityName>({ entity }: { entity: E }): Projection<E> {
  return projections[entity];
}
