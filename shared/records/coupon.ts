/** A coupon (rule R9.4). */
import { summaryAndWhole } from './components.ts';
import {
  filtered,
  flag,
  instant,
  listOf,
  money,
  oneOf,
  prose,
  text,
  updatedAt,
  whole,
} from './field.ts';
import { describeRecord } from './record.ts';
import { orderType } from './store.ts';

const discountType = oneOf(
  'DiscountType',
  ['percentage', 'fixed', 'free_delivery'],
  'Whether `discount_value` is a percentage or an amount in BRL; `free_delivery` waives the delivery fee.',
);

export const coupon = describeRecord(
  {
    code: text.required('What the customer enters.'),
    description: prose.optional(),
    discount_type: discountType.required(),
    discount_value: money.required('A percentage is written like an amount: `15.00` is 15 %.'),
    minimum_order_value: money.optional('The minimum total of an order.'),
    active: filtered(flag.required('Whether the store has switched it on.')),
    starts_at: instant.optional('From when it can be used.'),
    ends_at: instant.optional('Until when it can be used.'),
    created_at: instant.required(),
    updated_at: updatedAt(),
  },
  {
    maximum_discount: money.optional('The maximum discount on one order.'),
    usage_limit: whole.optional('How often all customers together can use it.'),
    usage_count: whole.optional('How often it was used so far.'),
    per_customer_limit: whole.optional('How often one customer can use it.'),
    order_types: listOf(orderType, 10).optional('The order types that it is valid for.'),
  },
);

export const [CouponSummary, Coupon] = summaryAndWhole('Coupon', 'A coupon', coupon, 'coupon');
