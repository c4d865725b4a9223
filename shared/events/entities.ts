/** The state of each entity, as `store-data.<entity>.changed` carries it (rules R9.3 to R9.13, R12.3). Bounds of lists are in entries. */
import { Type } from 'typebox';
import {
  optional,
  Address,
  ClockTime,
  Instant,
  listOf,
  Money,
  Name,
  Text,
  TimezoneOffset,
  Flag,
  Prose,
  Whole,
  CalendarDate,
  Id,
  Quantity,
  ImageUrl,
  knownFields,
} from './fields.ts';

export const ORDER_TYPES = ['delivery', 'takeout', 'indoor'] as const;
export const OrderType = Type.Enum([...ORDER_TYPES]);

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

export const DISCOUNT_TYPES = ['percentage', 'fixed', 'free_delivery'] as const;

export const CAMPAIGN_CHANNELS = ['whatsapp', 'sms', 'email', 'push'] as const;
export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'running', 'finished', 'cancelled'] as const;

export const ORDER_STATUSES = [
  'pending',
  'confirmed',
  'preparing',
  'ready',
  'dispatched',
  'delivered',
  'concluded',
  'cancelled',
] as const;

const OrderStatus = Type.Enum([...ORDER_STATUSES]);

const OrderItemOption = Type.Object({
  option_group_id: optional(Id),
  option_id: optional(Id),
  external_code: optional(Text),
  name: optional(Name),
  quantity: optional(Quantity),
  unit_price: optional(Money),
});

const OrderItem = Type.Object({
  id: optional(Id),
  product_id: Id,
  external_code: optional(Text),
  name: Name,
  quantity: Quantity,
  unit_price: Money,
  options: optional(listOf(OrderItemOption, 100)),
  notes: optional(Prose),
  total: Money,
});

export const PRICE_METHODS = ['sum', 'max', 'average'] as const;

const Option = Type.Object({
  id: Id,
  name: Name,
  description: optional(Prose),
  price: Money,
  max_quantity: optional(Whole),
  active: optional(Flag, true),
  position: optional(Whole, 0),
  external_code: optional(Text),
});

/** An option group's known fields, in bytes of UTF-8 as `JSON.stringify` writes them: 64 KiB. */
const OPTION_GROUP_BYTES = 65_536;

const OptionGroupFields = Type.Object({
  name: Name,
  min: Whole,
  max: Whole,
  price_method: optional(Type.Enum([...PRICE_METHODS])),
  position: optional(Whole, 0),
  external_code: optional(Text),
  options: listOf(Option, 200),
});

export const entitySchemas = {
  store: Type.Object({
    name: Name,
    legal_name: optional(Name),
    document: optional(Text),
    phone: optional(Text),
    email: optional(Text),
    status: optional(Type.Enum(['active', 'blocked']), 'active'),
    timezone_offset: TimezoneOffset,
    currency: optional(Type.Literal('BRL'), 'BRL'),
    order_types: optional(listOf(OrderType, 10)),
    minimum_order_value: optional(Money),
    address: optional(Address),
    opening_hours: optional(
      listOf(
        Type.Object({
          weekday: optional(Type.Enum([...WEEKDAYS])),
          opens: optional(ClockTime),
          closes: optional(ClockTime),
        }),
        50,
      ),
    ),
    created_at: Instant,
    updated_at: optional(Instant),
  }),
  coupon: Type.Object({
    code: Text,
    description: optional(Prose),
    discount_type: Type.Enum([...DISCOUNT_TYPES]),
    discount_value: Money,
    minimum_order_value: optional(Money),
    active: Flag,
    starts_at: optional(Instant),
    ends_at: optional(Instant),
    maximum_discount: optional(Money),
    usage_limit: optional(Whole),
    usage_count: optional(Whole),
    per_customer_limit: optional(Whole),
    order_types: optional(listOf(OrderType, 10)),
    created_at: Instant,
    updated_at: optional(Instant),
  }),
  customer: Type.Object({
    name: Name,
    document: optional(Text),
    phone: optional(Text),
    email: optional(Text),
    birth_date: optional(CalendarDate),
    accepts_marketing: optional(Flag, false),
    addresses: optional(listOf(Address, 50)),
    created_at: Instant,
    updated_at: optional(Instant),
  }),
  review: Type.Object({
    order_id: optional(Id),
    customer_id: optional(Id),
    customer_name: optional(Name),
    rating: Type.Integer({ minimum: 1, maximum: 5 }),
    comment: optional(Prose),
    reply: optional(Prose),
    replied_at: optional(Instant),
    created_at: Instant,
  }),
  campaign: Type.Object({
    name: Name,
    channel: Type.Enum([...CAMPAIGN_CHANNELS]),
    status: Type.Enum([...CAMPAIGN_STATUSES]),
    starts_at: optional(Instant),
    ends_at: optional(Instant),
    message: optional(Prose),
    audience: optional(Prose),
    coupon_id: optional(Id),
    sent_count: optional(Whole),
    delivered_count: optional(Whole),
    converted_count: optional(Whole),
    created_at: Instant,
    updated_at: optional(Instant),
  }),
  order: Type.Object({
    display_id: optional(Text),
    status: OrderStatus,
    order_type: OrderType,
    sales_channel: optional(Text),
    customer: optional(Type.Object({ id: Id, name: optional(Name), phone: optional(Text), document: optional(Text) })),
    subtotal: optional(Money),
    delivery_fee: optional(Money, '0.00'),
    service_fee: optional(Money, '0.00'),
    discount: optional(Money, '0.00'),
    total: Money,
    scheduled_for: optional(Instant),
    items: optional(listOf(OrderItem, 500)),
    delivery: optional(
      Type.Object({ address: optional(Address), fee: optional(Money), estimated_at: optional(Instant) }),
    ),
    payments: optional(
      listOf(
        Type.Object({
          method: optional(Type.Enum(['pix', 'credit', 'debit', 'cash', 'voucher', 'other'])),
          type: optional(Type.Enum(['prepaid', 'on_delivery'])),
          amount: optional(Money),
          change_for: optional(Money),
        }),
        50,
      ),
    ),
    coupon: optional(Type.Object({ id: optional(Id), code: optional(Text) })),
    status_history: optional(listOf(Type.Object({ status: optional(OrderStatus), at: optional(Instant) }), 200)),
    cancellation: optional(Type.Object({ reason: optional(Prose), at: optional(Instant) })),
    notes: optional(Prose),
    created_at: Instant,
    updated_at: optional(Instant),
  }),
  category: Type.Object({
    name: Name,
    description: optional(Prose),
    position: Whole,
    active: Flag,
    image_url: optional(ImageUrl),
    created_at: optional(Instant),
    updated_at: optional(Instant),
  }),
  product: Type.Object({
    category_id: optional(Id),
    name: Name,
    description: optional(Prose),
    price: Money,
    promotional_price: optional(Money),
    active: Flag,
    position: Whole,
    image_url: optional(ImageUrl),
    external_code: optional(Text),
    ean: optional(Text),
    serves: optional(Whole),
    option_group_ids: optional(listOf(Id, 100)),
    created_at: optional(Instant),
    updated_at: optional(Instant),
  }),
  /** Its bound is one of all its texts together: products and the menu repeat their groups. */
  option_group: Type.Refine(
    OptionGroupFields,
    (group) => Buffer.byteLength(JSON.stringify(knownFields(OptionGroupFields, group))) <= OPTION_GROUP_BYTES,
    () => `must not have more than ${OPTION_GROUP_BYTES} bytes (64 KiB) of known fields in JSON`,
  ),
} as const;

export type EntityStates = { [E in keyof typeof entitySchemas]: Type.Static<(typeof entitySchemas)[E]> };

export type EntityName = keyof EntityStates;

export const ENTITY_NAMES = Object.keys(entitySchemas) as EntityName[];
