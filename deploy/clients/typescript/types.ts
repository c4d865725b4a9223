// Written from docs/openapi.json by `npm run clients`.

/** A postal address in Brazil; each field is `null` if it is not known. */
export interface Address {
  street: string | null;
  number: string | null;
  complement: string | null;
  /** The neighbourhood (bairro). */
  district: string | null;
  city: string | null;
  /** As the store writes it, usually the two letters of the state. */
  state: string | null;
  /** The CEP, as the store writes it. */
  postal_code: string | null;
  /** A landmark for the courier. */
  reference: string | null;
  latitude: number | null;
  longitude: number | null;
}

/** A campaign, whole. */
export interface Campaign {
  id: Id;
  name: string;
  channel: CampaignChannel;
  status: CampaignStatus;
  starts_at: LocalDateTime | null;
  ends_at: LocalDateTime | null;
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
  /** The text that is sent. */
  message: string | null;
  /** The recipients, in words. */
  audience: string | null;
  /** The coupon that it promotes. */
  coupon_id: Id | null;
  sent_count: number | null;
  delivered_count: number | null;
  /** How many orders it led to. */
  converted_count: number | null;
}

/** How its messages are sent. */
export type CampaignChannel = 'whatsapp' | 'sms' | 'email' | 'push';

/** The state of a campaign. */
export type CampaignStatus = 'draft' | 'scheduled' | 'running' | 'finished' | 'cancelled';

/** A campaign, as lists show it. */
export interface CampaignSummary {
  id: Id;
  name: string;
  channel: CampaignChannel;
  status: CampaignStatus;
  starts_at: LocalDateTime | null;
  ends_at: LocalDateTime | null;
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
}

/** A category, whole. */
export interface Category {
  id: Id;
  name: string;
  description: string | null;
  /** Its place in the menu, smallest first. */
  position: number;
  /** Whether it is on sale. */
  active: boolean;
  image_url: string | null;
  created_at: LocalDateTime | null;
  updated_at: LocalDateTime;
  /** How many products name it, those that are not active included. */
  product_count: number;
}

/** A category with all that belongs to itself. */
export interface CategoryRecord {
  id: Id;
  name: string;
  description: string | null;
  /** Its place in the menu, smallest first. */
  position: number;
  /** Whether it is on sale. */
  active: boolean;
  image_url: string | null;
  created_at: LocalDateTime | null;
  updated_at: LocalDateTime;
}

/** A category, as lists show it. */
export interface CategorySummary {
  id: Id;
  name: string;
  description: string | null;
  /** Its place in the menu, smallest first. */
  position: number;
  /** Whether it is on sale. */
  active: boolean;
  image_url: string | null;
}

/** A coupon, whole. */
export interface Coupon {
  id: Id;
  /** What the customer enters. */
  code: string;
  description: string | null;
  discount_type: DiscountType;
  /** A percentage is written like an amount: `15.00` is 15 %. */
  discount_value: Money;
  /** The minimum total of an order. */
  minimum_order_value: Money | null;
  /** Whether the store has switched it on. */
  active: boolean;
  /** From when it can be used. */
  starts_at: LocalDateTime | null;
  /** Until when it can be used. */
  ends_at: LocalDateTime | null;
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
  /** The maximum discount on one order. */
  maximum_discount: Money | null;
  /** How often all customers together can use it. */
  usage_limit: number | null;
  /** How often it was used so far. */
  usage_count: number | null;
  /** How often one customer can use it. */
  per_customer_limit: number | null;
  /** The order types that it is valid for. */
  order_types: OrderType[];
}

/** A coupon, as lists show it. */
export interface CouponSummary {
  id: Id;
  /** What the customer enters. */
  code: string;
  description: string | null;
  discount_type: DiscountType;
  /** A percentage is written like an amount: `15.00` is 15 %. */
  discount_value: Money;
  /** The minimum total of an order. */
  minimum_order_value: Money | null;
  /** Whether the store has switched it on. */
  active: boolean;
  /** From when it can be used. */
  starts_at: LocalDateTime | null;
  /** Until when it can be used. */
  ends_at: LocalDateTime | null;
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
}

/** A customer of the store. */
export interface Customer {
  id: Id;
  name: string;
  /** The CPF or CNPJ, as the store writes it. */
  document: string | null;
  phone: string | null;
  email: string | null;
  /** A calendar date, `YYYY-MM-DD`. */
  birth_date: string | null;
  /** Whether the customer agreed to receive campaigns. */
  accepts_marketing: boolean;
  addresses: Address[];
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
}

/** Whether `discount_value` is a percentage or an amount in BRL; `free_delivery` waives the delivery fee. */
export type DiscountType = 'percentage' | 'fixed' | 'free_delivery';

/** An identifier: opaque, unique among the records of its kind in one store and environment. */
export type Id = string;

/** A date-time in local store time, without a zone. */
export type LocalDateTime = string;

/** What the store sells now: active categories, their active products and the options that can be chosen. */
export interface Menu {
  store_id: Id;
  /** The newest `updated_at` of the categories and products shown; `null` if none is. */
  updated_at: LocalDateTime | null;
  /** In order of position. */
  categories: MenuCategory[];
}

/** An active category that has an active product. */
export interface MenuCategory {
  id: Id;
  name: string;
  description: string | null;
  /** Its place in the menu, smallest first. */
  position: number;
  /** Whether it is on sale. */
  active: boolean;
  image_url: string | null;
  /** The active ones, in order. */
  products: MenuProduct[];
}

/** An active product of the menu. */
export interface MenuProduct {
  id: Id;
  /** It may name a category that the store does not have (any more). */
  category_id: Id | null;
  name: string;
  description: string | null;
  /** The price of one, without options. */
  price: Money;
  /** Replaces `price`, if there is one. */
  promotional_price: Money | null;
  /** Whether it is on sale. */
  active: boolean;
  /** Its place in the category, smallest first. */
  position: number;
  image_url: string | null;
  /** Its code in the store’s own system. */
  external_code: string | null;
  updated_at: LocalDateTime;
  /** In the order in which customers choose, with their active options alone. */
  option_groups: OptionGroup[];
}

/** An amount in BRL as a string with exactly two decimals, so that nothing is lost to binary fractions: read it as a decimal, not as a floating-point number. */
export type Money = string;

/** One span of opening hours. */
export interface OpeningHours {
  weekday: Weekday | null;
  /** Local store time, `HH:MM`. */
  opens: string | null;
  /** Local store time, `HH:MM`; `24:00` is the end of the day. */
  closes: string | null;
}

/** One choice of an option group. */
export interface Option {
  /** Unique within its group. */
  id: Id;
  name: string;
  description: string | null;
  /** What it adds to the product’s price. */
  price: Money;
  /** How often it can be chosen; `null`: as often as the group allows. */
  max_quantity: number | null;
  /** Whether it is on sale. */
  active: boolean;
  /** Its place in the group, smallest first. */
  position: number;
  /** Its code in the store’s own system. */
  external_code: string | null;
}

/** Choices that go with a product, such as flavours or extras. */
export interface OptionGroup {
  id: Id;
  name: string;
  /** How many must be chosen. */
  min: number;
  /** How many may be chosen. */
  max: number;
  price_method: PriceMethod | null;
  position: number;
  /** Its code in the store’s own system. */
  external_code: string | null;
  /** In order of position. */
  options: Option[];
}

/** An order, whole. */
export interface Order {
  id: Id;
  /** The number that the store and the customer see. */
  display_id: string | null;
  status: OrderStatus;
  order_type: OrderType;
  /** Where it was placed, such as `app`, `site` or `whatsapp`. */
  sales_channel: string | null;
  /** `null` if the order names nobody. */
  customer: OrderCustomer | null;
  /** The sum of the items’ quantities. */
  item_count: number;
  /** The items together. */
  subtotal: Money | null;
  delivery_fee: Money;
  service_fee: Money;
  discount: Money;
  /** What the customer pays. */
  total: Money;
  /** When the customer wants it, if it was ordered ahead. */
  scheduled_for: LocalDateTime | null;
  /** When it was placed. */
  created_at: LocalDateTime;
  /** When it changed last. */
  updated_at: LocalDateTime;
  items: OrderItem[];
  /** `null` if nothing is delivered. */
  delivery: OrderDelivery | null;
  payments: OrderPayment[];
  coupon: OrderCoupon | null;
  /** The statuses so far, oldest first as the store sends them. */
  status_history: OrderStatusChange[];
  cancellation: OrderCancellation | null;
  notes: string | null;
}

/** Why and when an order was cancelled. */
export interface OrderCancellation {
  reason: string | null;
  at: LocalDateTime | null;
}

/** The coupon that was used. */
export interface OrderCoupon {
  id: Id | null;
  code: string | null;
}

/** Who ordered. */
export interface OrderCustomer {
  id: Id;
  /** `null` also if the customer was deleted. */
  name: string | null;
  phone: string | null;
  /** The CPF or CNPJ for the receipt. */
  document: string | null;
}

/** Who ordered. */
export interface OrderCustomerSummary {
  id: Id;
  /** `null` also if the customer was deleted. */
  name: string | null;
  phone: string | null;
}

/** Where an order goes, and when it should be there. */
export interface OrderDelivery {
  address: Address | null;
  fee: Money | null;
  estimated_at: LocalDateTime | null;
}

/** One line of an order. */
export interface OrderItem {
  id: Id | null;
  product_id: Id;
  /** The product’s code in the store’s own system. */
  external_code: string | null;
  /** The product’s name when it was ordered. */
  name: string;
  quantity: number;
  /** The price of one, without options. */
  unit_price: Money;
  options: OrderItemOption[];
  /** What the customer asked for. */
  notes: string | null;
  /** The line, options included. */
  total: Money;
}

/** An option that was chosen. */
export interface OrderItemOption {
  option_group_id: Id | null;
  option_id: Id | null;
  external_code: string | null;
  name: string | null;
  quantity: number | null;
  unit_price: Money | null;
}

/** One payment of an order. */
export interface OrderPayment {
  method: PaymentMethod | null;
  type: PaymentType | null;
  amount: Money | null;
  /** The cash that the customer has ready. */
  change_for: Money | null;
}

/** The state of an order: from `pending` (placed, not yet accepted) to `concluded`, or `cancelled`. */
export type OrderStatus =
  | 'pending'
  | 'confirmed'
  | 'preparing'
  | 'ready'
  | 'dispatched'
  | 'delivered'
  | 'concluded'
  | 'cancelled';

/** A status that an order has had. */
export interface OrderStatusChange {
  status: OrderStatus | null;
  at: LocalDateTime | null;
}

/** An order, as lists show it. */
export interface OrderSummary {
  id: Id;
  /** The number that the store and the customer see. */
  display_id: string | null;
  status: OrderStatus;
  order_type: OrderType;
  /** Where it was placed, such as `app`, `site` or `whatsapp`. */
  sales_channel: string | null;
  /** `null` if the order names nobody. */
  customer: OrderCustomerSummary | null;
  /** The sum of the items’ quantities. */
  item_count: number;
  /** The items together. */
  subtotal: Money | null;
  delivery_fee: Money;
  service_fee: Money;
  discount: Money;
  /** What the customer pays. */
  total: Money;
  /** When the customer wants it, if it was ordered ahead. */
  scheduled_for: LocalDateTime | null;
  /** When it was placed. */
  created_at: LocalDateTime;
  /** When it changed last. */
  updated_at: LocalDateTime;
}

/** `delivery`: brought to the customer. */
export type OrderType = 'delivery' | 'takeout' | 'indoor';

/** How it is paid. */
export type PaymentMethod = 'pix' | 'credit' | 'debit' | 'cash' | 'voucher' | 'other';

/** Whether it was paid when ordering or is paid on delivery. */
export type PaymentType = 'prepaid' | 'on_delivery';

/** How the prices of several choices add up: their sum, the highest, or their average (half-and-half pizzas). */
export type PriceMethod = 'sum' | 'max' | 'average';

/** A product, whole. */
export interface Product {
  id: Id;
  /** It may name a category that the store does not have (any more). */
  category_id: Id | null;
  name: string;
  description: string | null;
  /** The price of one, without options. */
  price: Money;
  /** Replaces `price`, if there is one. */
  promotional_price: Money | null;
  /** Whether it is on sale. */
  active: boolean;
  /** Its place in the category, smallest first. */
  position: number;
  image_url: string | null;
  /** Its code in the store’s own system. */
  external_code: string | null;
  updated_at: LocalDateTime;
  /** The barcode. */
  ean: string | null;
  /** How many people it serves. */
  serves: number | null;
  /** In the order in which customers choose. */
  option_groups: OptionGroup[];
  created_at: LocalDateTime | null;
}

/** A product with all that belongs to itself. */
export interface ProductRecord {
  id: Id;
  /** It may name a category that the store does not have (any more). */
  category_id: Id | null;
  name: string;
  description: string | null;
  /** The price of one, without options. */
  price: Money;
  /** Replaces `price`, if there is one. */
  promotional_price: Money | null;
  /** Whether it is on sale. */
  active: boolean;
  /** Its place in the category, smallest first. */
  position: number;
  image_url: string | null;
  /** Its code in the store’s own system. */
  external_code: string | null;
  updated_at: LocalDateTime;
  /** The barcode. */
  ean: string | null;
  /** How many people it serves. */
  serves: number | null;
  /** The option groups that it names, each once, in the order in which customers choose; also those that the store does not have (any more). */
  option_group_ids: Id[];
  created_at: LocalDateTime | null;
}

/** A product, as lists show it. */
export interface ProductSummary {
  id: Id;
  /** It may name a category that the store does not have (any more). */
  category_id: Id | null;
  name: string;
  description: string | null;
  /** The price of one, without options. */
  price: Money;
  /** Replaces `price`, if there is one. */
  promotional_price: Money | null;
  /** Whether it is on sale. */
  active: boolean;
  /** Its place in the category, smallest first. */
  position: number;
  image_url: string | null;
  /** Its code in the store’s own system. */
  external_code: string | null;
  updated_at: LocalDateTime;
}

/** Stars, 5 the best. */
export type Rating = number;

/** A review, whole. */
export interface Review {
  id: Id;
  /** The order that it is about. */
  order_id: Id | null;
  customer_id: Id | null;
  /** `null` also if the customer was deleted. */
  customer_name: string | null;
  rating: Rating;
  comment: string | null;
  /** When the customer wrote it. */
  created_at: LocalDateTime;
  /** The store’s reply. */
  reply: string | null;
  /** When the store replied. */
  replied_at: LocalDateTime | null;
}

/** A review, as lists show it. */
export interface ReviewSummary {
  id: Id;
  /** The order that it is about. */
  order_id: Id | null;
  customer_id: Id | null;
  /** `null` also if the customer was deleted. */
  customer_name: string | null;
  rating: Rating;
  comment: string | null;
  /** When the customer wrote it. */
  created_at: LocalDateTime;
}

/** The store that the key belongs to. */
export interface StoreInfo {
  id: Id;
  /** The name that customers know. */
  name: string;
  /** The registered name (razão social). */
  legal_name: string | null;
  /** The CNPJ or CPF, as the store writes it. */
  document: string | null;
  phone: string | null;
  email: string | null;
  status: StoreStatus;
  /** Append it to any date-time of this store to get the instant. */
  timezone_offset: TimezoneOffset;
  /** The currency of every amount. */
  currency: 'BRL';
  /** The ways in which orders can be placed. */
  order_types: OrderType[];
  /** The minimum total of an order. */
  minimum_order_value: Money | null;
  address: Address | null;
  opening_hours: OpeningHours[];
  created_at: LocalDateTime;
  updated_at: LocalDateTime;
}

/** Tokens of a blocked store are refused. */
export type StoreStatus = 'active' | 'blocked';

/** The distance of local store time from UTC. */
export type TimezoneOffset = string;

/** A day of the week. */
export type Weekday =
  'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';

export interface CouponsFilters {
  /** Only active coupons (`true`), or only inactive ones (`false`). */
  active?: boolean | undefined;
}

export interface CustomersFilters {
  /** Only customers whose name, document or phone holds this text. */
  search?: string | undefined;
  /** Only records created at this second or later. */
  created_from?: string | undefined;
  /** Only records created at this second or earlier; not before `created_from`. */
  created_to?: string | undefined;
  /** Only records whose `updated_at` is this second or later. */
  updated_from?: string | undefined;
  /** Only records whose `updated_at` is this second or earlier; not before `updated_from`. */
  updated_to?: string | undefined;
}

export interface CustomerOrdersFilters {
  /** Only orders with this status. */
  status?: readonly OrderStatus[] | undefined;
  /** Only orders of this type. */
  order_type?: readonly OrderType[] | undefined;
  /** Only records created at this second or later. */
  created_from?: string | undefined;
  /** Only records created at this second or earlier; not before `created_from`. */
  created_to?: string | undefined;
  /** Only records whose `updated_at` is this second or later. */
  updated_from?: string | undefined;
  /** Only records whose `updated_at` is this second or earlier; not before `updated_from`. */
  updated_to?: string | undefined;
  /** Only orders that name this customer, whether or not there still is a record of them. */
  customer_id?: Id | undefined;
}

export interface ReviewsFilters {
  /** Only reviews with this rating. */
  rating?: readonly Rating[] | undefined;
  /** Only records created at this second or later. */
  created_from?: string | undefined;
  /** Only records created at this second or earlier; not before `created_from`. */
  created_to?: string | undefined;
}

export interface CampaignsFilters {
  /** Only campaigns with this status. */
  status?: readonly CampaignStatus[] | undefined;
}

export interface OrdersFilters {
  /** Only orders with this status. */
  status?: readonly OrderStatus[] | undefined;
  /** Only orders of this type. */
  order_type?: readonly OrderType[] | undefined;
  /** Only records created at this second or later. */
  created_from?: string | undefined;
  /** Only records created at this second or earlier; not before `created_from`. */
  created_to?: string | undefined;
  /** Only records whose `updated_at` is this second or later. */
  updated_from?: string | undefined;
  /** Only records whose `updated_at` is this second or earlier; not before `updated_from`. */
  updated_to?: string | undefined;
}

export interface ProductsFilters {
  /** Only products that name this category. */
  category_id?: Id | undefined;
  /** Only records whose `updated_at` is this second or later. */
  updated_from?: string | undefined;
  /** Only records whose `updated_at` is this second or earlier; not before `updated_from`. */
  updated_to?: string | undefined;
}

/** The records of each kind, as `records` of the change feed asks for them. */
export interface KindRecords {
  store: { whole: StoreInfo; summary: StoreInfo };
  order: { whole: Order; summary: OrderSummary };
  customer: { whole: Customer; summary: Customer };
  review: { whole: Review; summary: ReviewSummary };
  campaign: { whole: Campaign; summary: CampaignSummary };
  coupon: { whole: Coupon; summary: CouponSummary };
  category: { whole: CategoryRecord; summary: CategorySummary };
  product: { whole: ProductRecord; summary: ProductSummary };
  'option-group': { whole: OptionGroup; summary: OptionGroup };
}
export type Kind = keyof KindRecords;
export type Detail = 'whole' | 'summary';

/** A record as it is now, or its deletion. */
export type Change<K extends Kind = Kind, D extends Detail = 'whole'> = {
  [P in K]:
    | { kind: P; id: Id; deleted: false; record: KindRecords[P][D] }
    | { kind: P; id: Id; deleted: true; record: null };
}[K];

/** Changes, oldest first. Store `next` together with what you make of them. */
export interface Batch<K extends Kind = Kind, D extends Detail = 'whole'> {
  results: Change<K, D>[];
  timezone_offset: TimezoneOffset;
  next: string;
  more: boolean;
}

export interface ChangesParameters<K extends Kind = Kind, D extends Detail = 'whole'> {
  /** All kinds unless given. */
  kinds?: readonly K[] | undefined;
  /** `whole` unless given. */
  records?: D | undefined;
  /** A stored `next`, or `now`; from the beginning unless given. */
  after?: string | null | undefined;
  /** 1,000 unless given. */
  page_size?: number | undefined;
  /** How many seconds a request is held while nothing changes: 30 unless given. */
  wait?: number | undefined;
}

export interface Page<T> {
  /** How many records match, on all pages. */
  count: number;
  page: number;
  page_size: number;
  results: T[];
}
