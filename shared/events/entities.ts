/** The state of each entity, as `store-data.<entity>.changed` carries it (rules R9.3 to R9.13, R12.3). Bounds of lists are in entries. */
import { Type } from 'typebox';
import {
  absent,
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
  option_group_id: absent(Id),
  option_id: absent(Id),
  external_code: absent(Text),
  name: absent(Name),
  quantity: absent(Quantity),
  unit_price: absent(Money),
});

const OrderItem = Type.Object({
  id: absent(Id),
  product_id: Id,
  external_code: absent(Text),
  name: Name,
  quantity: Quantity,
  unit_price: Money,
  options: absent(listOf(OrderItemOption, 100)),
  notes: absent(Prose),
  total: Money,
});

export const PRICE_METHODS = ['sum', 'max', 'average'] as const;

const Option = Type.Object({
  id: Id,
  name: Name,
  description: absent(Prose),
  price: Money,
  max_quantity: absent(Whole),
  active: absent(Flag, true),
  position: absent(Whole, 0),
  external_code: absent(Text),
});

/** An option group's known fields, in bytes of UTF-8 as `JSON.stringify` writes them: 64 KiB. */
const OPTION_GROUP_BYTES = 65_536;

const OptionGroupFields = Type.Object({
  name: Name,
  min: Whole,
  max: Whole,
  price_method: absent(Type.Enum([...PRICE_METHODS])),
  position: absent(Whole, 0),
  external_code: absent(Text),
  options: listOf(Option, 200),
});

export const entitySchemas = {
  store: Type.Object({
    name: Name,
    legal_name: absent(Name),
    document: absent(Text),
    phone: absent(Text),
    email: absent(Text),
    status: absent(Type.Enum(['active', 'blocked']), 'active'),
    timezone_offset: TimezoneOffset,
    currency: absent(Type.Literal('BRL'), 'BRL'),
    order_types: absent(listOf(OrderType, 10)),
    minimum_order_value: absent(Money),
    address: absent(Address),
    opening_hours: absent(
      listOf(
        Type.Object({
          weekday: absent(Type.Enum([...WEEKDAYS])),
          opens: absent(ClockTime),
          closes: absent(ClockTime),
        }),
        50,
      ),
    ),
    created_at: Instant,
    updated_at: absent(Instant),
  }),
  coupon: Type.Object({
    code: Text,
    description: absent(Prose),
    discount_type: Type.Enum([...DISCOUNT_TYPES]),
    discount_value: Money,
    minimum_order_value: absent(Money),
    active: Flag,
    starts_at: absent(Instant),
    ends_at: absent(Instant),
    maximum_discount: absent(Money),
    usage_limit: absent(Whole),
    usage_count: absent(Whole),
    per_customer_limit: absent(Whole),
    order_types: absent(listOf(OrderType, 10)),
    created_at: Instant,
    updated_at: absent(Instant),
  }),
  customer: Type.Object({
    name: Name,
    document: absent(Text),
    phone: absent(Text),
    email: absent(Text),
    birth_date: absent(CalendarDate),
    accepts_marketing: absent(Flag, false),
    addresses: absent(listOf(Address, 50)),
    created_at: Instant,
    updated_at: absent(Instant),
  }),
  review: Type.Object({
    order_id: absent(Id),
    customer_id: absent(Id),
    customer_name: absent(Name),
    rating: Type.Integer({ minimum: 1, maximum: 5 }),
    comment: absent(Prose),
    reply: absent(Prose),
    replied_at: absent(Instant),
    created_at: Instant,
  }),
  campaign: Type.Object({
    name: Name,
    channel: Type.Enum([...CAMPAIGN_CHANNELS]),
    status: Type.Enum([...CAMPAIGN_STATUSES]),
    starts_at: absent(Instant),
    ends_at: absent(Instant),
    message: absent(Prose),
    audience: absent(Prose),
    coupon_id: absent(Id),
    sent_count: absent(Whole),
    delivered_count: absent(Whole),
    converted_count: absent(Whole),
    created_at: Instant,
    updated_at: absent(Instant),
  }),
  order: Type.Object({
    display_id: absent(Text),
    status: OrderStatus,
    order_type: OrderType,
    sales_channel: absent(Text),
    customer: absent(Type.Object({ id: Id, name: absent(Name), phone: absent(Text), document: absent(Text) })),
    subtotal: absent(Money),
    delivery_fee: absent(Money, '0.00'),
    service_fee: absent(Money, '0.00'),
    discount: absent(Money, '0.00'),
    total: Money,
    scheduled_for: absent(Instant),
    items: absent(listOf(OrderItem, 500)),
    delivery: absent(Type.Object({ address: absent(Address), fee: absent(Money), estimated_at: absent(Instant) })),
    payments: absent(
      listOf(
        Type.Object({
          method: absent(Type.Enum(['pix', 'credit', 'debit', 'cash', 'voucher', 'other'])),
          type: absent(Type.Enum(['prepaid', 'on_delivery'])),
          amount: absent(Money),
          change_for: absent(Money),
        }),
        50,
      ),
    ),
    coupon: absent(Type.Object({ id: absent(Id), code: absent(Text) })),
    status_history: absent(listOf(Type.Object({ status: absent(OrderStatus), at: absent(Instant) }), 200)),
    cancellation: absent(Type.Object({ reason: absent(Prose), at: absent(Instant) })),
    notes: absent(Prose),
    created_at: Instant,
    updated_at: absent(Instant),
  }),
  category: Type.Object({
    name: Name,
    description: absent(Prose),
    position: Whole,
    active: Flag,
    image_url: absent(ImageUrl),
    created_at: absent(Instant),
    updated_at: absent(Instant),
  }),
  product: Type.Object({
    category_id: absent(Id),
    name: Name,
    description: absent(Prose),
    price: Money,
    promotional_price: absent(Money),
    active: Flag,
    position: Whole,
    image_url: absent(ImageUrl),
    external_code: absent(Text),
    ean: absent(Text),
    serves: absent(Whole),
    option_group_ids: absent(listOf(Id, 100)),
    created_at: absent(Instant),
    updated_at: absent(Instant),
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
