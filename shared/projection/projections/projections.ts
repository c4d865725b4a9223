/** The projections: pure functions from an entity's state to its read-model document. */
import type { ChangeTo, Change } from '../../events/change.ts';
import type { EntityName, EntityStates } from '../../events/entities.ts';
import { parseInstant } from '../../events/instant.ts';
import { Address, type AddressState } from '../../events/fields.ts';
import { type Documents, type Unplaced, documentId, type ReadModelDocument } from '../../read-models/collections.ts';
import { toLocalDateTime, SHIFTED_FIELDS, EXACT, isReversible } from '../../read-models/local-time.ts';
import { alphanumericOf, digitsOf, foldName } from '../../read-models/search-texts.ts';
import { nameKey, timeKey, orderFacet, reviewFacet } from '../../read-models/rank-tree/keys.ts';

type Changed<E extends EntityName> = ChangeTo<E> & { state: EntityStates[E] };

export interface ProjectionContext {
  offset: string;
  /** Whether the customer that the entity names was deleted: then their personal data is left out. */
  customerErased: boolean;
}

/** The fields of every document: its record and version, and the offset of its date-times. */
type CommonField = '_id' | 'store_id' | 'sequence' | 'offset';

interface Projection<E extends EntityName> {
  /** The fields of the document that not all documents have. */
  project: (change: Changed<E>, context: ProjectionContext) => Omit<Unplaced<Documents[E]>, CommonField>;
  customerOf?: (state: EntityStates[E]) => string | null;
}

/** Milliseconds of a checked date-time. */
function instant(text: string): number {
  const milliseconds = parseInstant(text);
  if (milliseconds === null) throw new TypeError('not a checked date-time');
  return milliseconds;
}

function local(text: string | null | undefined, offset: string): string | null {
  return text === null || text === undefined ? null : toLocalDateTime(instant(text), offset);
}

/** When a state was updated, in milliseconds since 1970: `updated_at`, else the event's own time (rule R12.4). */
function updatedAt({ updated_at: text }: { updated_at?: string | null }, time: number): number {
  return text === null || text === undefined ? time : instant(text);
}

function members(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

/** Some fields of a state, in this order; `null` where one is absent. */
function shown<S extends object, K extends keyof S>(
  state: S,
  names: readonly K[],
): { [N in K]: Exclude<S[N], undefined> | null } {
  const fields = {} as { [N in K]: Exclude<S[N], undefined> | null };
  for (const name of names) fields[name] = (state[name] ?? null) as (typeof fields)[K];
  return fields;
}

const ADDRESS = Object.keys(Address.properties) as (keyof AddressState)[];

/** An address as responses show it (rule R9.15). */
function address(state: AddressState | null | undefined) {
  return state === null || state === undefined ? null : shown(state, ADDRESS);
}

const storeProjection: Projection<'store'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const status = state.status ?? 'active';
    return {
      status,
      created_at: new Date(instant(state.created_at)),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['name', 'legal_name', 'document', 'phone', 'email']),
        status,
        timezone_offset: state.timezone_offset,
        currency: 'BRL',
        order_types: state.order_types ?? [],
        minimum_order_value: state.minimum_order_value ?? null,
        address: address(state.address),
        opening_hours: (state.opening_hours ?? []).map((hours) => shown(hours, ['weekday', 'opens', 'closes'])),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};

const customerProjection: Projection<'customer'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const document = state.document ?? '';
    return {
      rank_key: nameKey(foldName(state.name), id),
      created_key: timeKey(instant(state.created_at), id),
      document_digits: digitsOf(document),
      document_key: alphanumericOf(document),
      phone_digits: digitsOf(state.phone ?? ''),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['name', 'document', 'phone', 'email', 'birth_date']),
        accepts_marketing: state.accepts_marketing ?? false,
        addresses: (state.addresses ?? []).map(address),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};

type OrderState = EntityStates['order'];

const orderProjection: Projection<'order'> = {
  project({ id, state, time }, { offset, customerErased }) {
    const updated = updatedAt(state, time);
    const customer = customerOf(state, customerErased);
    const customerId = state.customer?.id ?? null;
    const fields = { id, ...shown(state, ['display_id', 'status', 'order_type', 'sales_channel']) };
    const amounts = {
      item_count: (state.items ?? []).reduce((sum, { quantity }) => sum + quantity, 0),
      subtotal: state.subtotal ?? null,
      delivery_fee: state.delivery_fee ?? '0.00',
      service_fee: state.service_fee ?? '0.00',
      discount: state.discount ?? '0.00',
      total: state.total,
      scheduled_for: local(state.scheduled_for, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updated, offset),
    };
    return {
      rank_key: timeKey(instant(state.created_at), id),
      facet: orderFacet({ status: state.status, order_type: state.order_type, customer_id: customerId }),
      customer_id: customerId,
      updated_at: new Date(updated),
      summary: JSON.stringify({
        ...fields,
        customer: customer && { id: customer.id, name: customer.name, phone: customer.phone },
        ...amounts,
      }),
      whole: JSON.stringify({ customer, ...details(state, offset) }),
    };
  },

  customerOf: (state) => state.customer?.id ?? null,
};

function customerOf({ customer }: OrderState, erased: boolean) {
  if (customer === null || customer === undefined) return null;
  if (erased) return { id: customer.id, name: null, phone: null, document: null };
  return shown(customer, ['id', 'name', 'phone', 'document']);
}

function details(state: OrderState, offset: string) {
  const { delivery, coupon, cancellation } = state;
  return {
    items: (state.items ?? []).map((item) => ({
      id: item.id ?? null,
      product_id: item.product_id,
      external_code: item.external_code ?? null,
      name: item.name,
      quantity: item.quantity,
      unit_price: item.unit_price,
      options: (item.options ?? []).map((option) => ({
        option_group_id: option.option_group_id ?? null,
        option_id: option.option_id ?? null,
        external_code: option.external_code ?? null,
        name: option.name ?? null,
        quantity: option.quantity ?? null,
        unit_price: option.unit_price ?? null,
      })),
      notes: item.notes ?? null,
      total: item.total,
    })),
    delivery: delivery
      ? {
          address: address(delivery.address),
          fee: delivery.fee ?? null,
          estimated_at: local(delivery.estimated_at, offset),
        }
      : null,
    payments: (state.payments ?? []).map((one) => shown(one, ['method', 'type', 'amount', 'change_for'])),
    coupon: coupon ? shown(coupon, ['id', 'code']) : null,
    status_history: (state.status_history ?? []).map(({ status, at }) => ({
      status: status ?? null,
      at: local(at, offset),
    })),
    cancellation: cancellation ? { reason: cancellation.reason ?? null, at: local(cancellation.at, offset) } : null,
    notes: state.notes ?? null,
  };
}

const reviewProjection: Projection<'review'> = {
  project({ id, state }, { offset, customerErased }) {
    const summary = {
      id,
      order_id: state.order_id ?? null,
      customer_id: state.customer_id ?? null,
      customer_name: customerErased ? null : (state.customer_name ?? null),
      rating: state.rating,
      comment: state.comment ?? null,
      created_at: local(state.created_at, offset),
    };
    return {
      rank_key: timeKey(instant(state.created_at), id),
      facet: reviewFacet(state.rating),
      customer_id: summary.customer_id,
      summary: JSON.stringify(summary),
      whole: JSON.stringify({ ...summary, reply: state.reply ?? null, replied_at: local(state.replied_at, offset) }),
    };
  },

  customerOf: (state) => state.customer_id ?? null,
};

const couponProjection: Projection<'coupon'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      ...shown(state, ['code', 'description', 'discount_type', 'discount_value']),
      ...shown(state, ['minimum_order_value', 'active']),
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      active: state.active,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        ...shown(state, ['maximum_discount', 'usage_limit', 'usage_count', 'per_customer_limit']),
        order_types: state.order_types ?? [],
      }),
    };
  },
};

const campaignProjection: Projection<'campaign'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      ...shown(state, ['name', 'channel', 'status']),
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      status: state.status,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        ...shown(state, ['message', 'audience', 'coupon_id']),
        ...shown(state, ['sent_count', 'delivered_count', 'converted_count']),
      }),
    };
  },
};

const categoryProjection: Projection<'category'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    return {
      name: state.name,
      position: state.position,
      active: state.active,
      updated_at: new Date(updated),
      summary: JSON.stringify({ id, ...shown(state, ['name', 'description', 'position', 'active', 'image_url']) }),
      dates: members({ created_at: local(state.created_at, offset), updated_at: toLocalDateTime(updated, offset) }),
    };
  },
};

const productProjection: Projection<'product'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    return {
      name: state.name,
      position: state.position,
      active: state.active,
      category_id: state.category_id ?? '',
      option_group_ids: [...new Set(state.option_group_ids ?? [])],
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['category_id', 'name', 'description', 'price', 'promotional_price']),
        ...shown(state, ['active', 'position', 'image_url', 'external_code']),
        updated_at: toLocalDateTime(updated, offset),
      }),
      before_groups: members(shown(state, ['ean', 'serves'])),
      after_groups: members({ created_at: local(state.created_at, offset) }),
    };
  },
};

const optionGroupProjection: Projection<'option_group'> = {
  project({ id, state }) {
    const options = state.options
      .map((option) => ({
        id: option.id,
        ...shown(option, ['name', 'description', 'price', 'max_quantity']),
        active: option.active ?? true,
        position: option.position ?? 0,
        external_code: option.external_code ?? null,
      }))
      .sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1));
    const group = (some: typeof options) =>
      JSON.stringify({
        id,
        ...shown(state, ['name', 'min', 'max', 'price_method']),
        position: state.position ?? 0,
        external_code: state.external_code ?? null,
        options: some,
      });
    return {
      name_key: foldName(state.name),
      summary: group(options),
      active_summary: group(options.filter(({ active }) => active)),
    };
  },
};

const projections: { [E in EntityName]: Projection<E> } = {
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

function projectionOf<E extends EntityName>({ entity }: { entity: E }): Projection<E> {
  return projections[entity];
}

/** Uses `EXACT` if local time does not show a date-time exactly: otherwise a new offset could not be applied to it. */
export function projectDocument(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> {
  const document = documentOf(change, context);
  const fields = document as object as Record<string, unknown>;
  const isExact = SHIFTED_FIELDS.every((field) => {
    const json = fields[field];
    return typeof json !== 'string' || isReversible(json);
  });
  return isExact ? document : documentOf(change, { ...context, offset: EXACT });
}

/** As `project`, always in the context's offset. */
export function documentOf(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> {
  const { storeId, id, sequence } = change;
  const fields = projectionOf(change).project(change as Changed<typeof change.entity>, context);
  return Object.assign(
    { _id: documentId(storeId, id), store_id: storeId, sequence, offset: context.offset },
    fields as Unplaced<ReadModelDocument>,
  );
}

export function customerNamedBy(change: Change): string | null {
  if (change.state === null) return null;
  return projectionOf(change).customerOf?.(change.state) ?? null;
}
