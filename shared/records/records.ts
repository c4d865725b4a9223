/** All kinds of records. */
import { campaign } from './campaign.ts';
import { category, optionGroup, product } from './catalog.ts';
import { coupon } from './coupon.ts';
import { customer } from './customer.ts';
import { order } from './order.ts';
import { review } from './review.ts';
import { store } from './store.ts';

export const RECORDS = {
  store,
  coupon,
  customer,
  review,
  campaign,
  order,
  category,
  product,
  option_group: optionGroup,
} as const;
