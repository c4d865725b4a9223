/** Response schemas, from which the framework makes its fast serializers (rules R9.3 to R9.14). */

type Schema = Record<string, unknown>;

const text = { type: 'string' };
const optionalText = { type: 'string', nullable: true };
const whole = { type: 'integer' };
const optionalWhole = { type: 'integer', nullable: true };
const optionalNumber = { type: 'number', nullable: true };
const flag = { type: 'boolean' };

function object(properties: Schema): { type: 'object'; properties: Schema } {
  return { type: 'object', properties };
}

function nullable(schema: Schema): Schema {
  return { ...schema, nullable: true };
}

function list(items: Schema): Schema {
  return { type: 'array', items };
}

const address = nullable(
  object({
    street: optionalText,
    number: optionalText,
    complement: optionalText,
    district: optionalText,
    city: optionalText,
    state: optionalText,
    postal_code: optionalText,
    reference: optionalText,
    latitude: optionalNumber,
    longitude: optionalNumber,
  }),
);

export const store = object({
  id: text,
  name: text,
  legal_name: optionalText,
  document: optionalText,
  phone: optionalText,
  email: optionalText,
  status: text,
  timezone_offset: text,
  currency: text,
  order_types: list(text),
  minimum_order_value: optionalText,
  address,
  opening_hours: list(object({ weekday: text, opens: optionalText, closes: optionalText })),
  created_at: text,
  updated_at: text,
});

export const coupon = object({
  id: text,
  code: text,
  description: optionalText,
  discount_type: text,
  discount_value: text,
  minimum_order_value: optionalText,
  active: flag,
  starts_at: optionalText,
  ends_at: optionalText,
  created_at: text,
  updated_at: text,
});
export const wholeCoupon = object({
  ...coupon.properties,
  maximum_discount: optionalText,
  usage_limit: optionalWhole,
  usage_count: optionalWhole,
  per_customer_limit: optionalWhole,
  order_types: list(text),
});

export const customer = object({
  id: text,
  name: text,
  document: optionalText,
  phone: optionalText,
  email: optionalText,
  birth_date: optionalText,
  accepts_marketing: flag,
  addresses: list(address),
  created_at: text,
  updated_at: text,
});

export const review = object({
  id: text,
  order_id: optionalText,
  customer_id: optionalText,
  customer_name: optionalText,
  rating: whole,
  comment: optionalText,
  created_at: text,
});
export const wholeReview = object({ ...review.properties, reply: optionalText, replied_at: optionalText });

export const campaign = object({
  id: text,
  name: text,
  channel: text,
  status: text,
  starts_at: optionalText,
  ends_at: optionalText,
  created_at: text,
  updated_at: text,
});
export const wholeCampaign = object({
  ...campaign.properties,
  message: optionalText,
  audience: optionalText,
  coupon_id: optionalText,
  sent_count: optionalWhole,
  delivered_count: optionalWhole,
  converted_count: optionalWhole,
});

const orderCustomer = { id: text, name: optionalText, phone: optionalText };
export const order = object({
  id: text,
  display_id: optionalText,
  status: text,
  order_type: text,
  sales_channel: optionalText,
  customer: nullable(object(orderCustomer)),
  item_count: whole,
  subtotal: optionalText,
  delivery_fee: text,
  service_fee: text,
  discount: text,
  total: text,
  scheduled_for: optionalText,
  created_at: text,
  updated_at: text,
});
const orderItem = object({
  id: optionalText,
  product_id: text,
  external_code: optionalText,
  name: text,
  quantity: whole,
  unit_price: text,
  options: list(
    object({
      option_group_id: optionalText,
      option_id: optionalText,
      external_code: optionalText,
      name: optionalText,
      quantity: optionalWhole,
      unit_price: optionalText,
    }),
  ),
  notes: optionalText,
  total: text,
});
export const wholeOrder = object({
  ...order.properties,
  customer: nullable(object({ ...orderCustomer, document: optionalText })),
  items: list(orderItem),
  delivery: nullable(object({ address, fee: optionalText, estimated_at: optionalText })),
  payments: list(
    object({ method: optionalText, type: optionalText, amount: optionalText, change_for: optionalText }),
  ),
  coupon: nullable(object({ id: optionalText, code: optionalText })),
  status_history: list(object({ status: optionalText, at: optionalText })),
  cancellation: nullable(object({ reason: optionalText, at: optionalText })),
  notes: optionalText,
});

export const category = object({
  id: text,
  name: text,
  description: optionalText,
  position: whole,
  active: flag,
  image_url: optionalText,
});
export const wholeCategory = object({
  ...category.properties,
  created_at: optionalText,
  updated_at: text,
  product_count: whole,
});

export const optionGroup = object({
  id: text,
  name: text,
  min: whole,
  max: whole,
  price_method: optionalText,
  position: whole,
  external_code: optionalText,
  options: list(
    object({
      id: text,
      name: text,
      description: optionalText,
      price: text,
      max_quantity: optionalWhole,
      active: flag,
      position: whole,
      external_code: optionalText,
    }),
  ),
});

export const product = object({
  id: text,
  category_id: optionalText,
  name: text,
  description: optionalText,
  price: text,
  promotional_price: optionalText,
  active: flag,
  position: whole,
  image_url: optionalText,
  external_code: optionalText,
  updated_at: text,
});
export const wholeProduct = object({
  ...product.properties,
  ean: optionalText,
  serves: optionalWhole,
  option_groups: list(optionGroup),
  created_at: optionalText,
});

export const menu = object({
  store_id: text,
  updated_at: optionalText,
  categories: list(
    object({
      ...category.properties,
      products: list(object({ ...product.properties, option_groups: list(optionGroup) })),
    }),
  ),
});

/** A page of records. */
export function pageOf(record: Schema): Schema {
  return object({ count: whole, page: whole, page_size: whole, results: list(record) });
}
