/**
 * The contract as a plain in-memory model: events are applied one by one, lists are filtered, sorted and cut with arrays.
 * Written from docs/rules.md alone, sharing no code with the services, so that both can only agree by being right.
 */
import type { StreamEvent } from './streams.ts';

type Fields = Record<string, unknown>;
interface Entity {
  sequence: number;
  /** `null` once deleted. */
  data: Fields | null;
  /** When the event happened. */
  time: Date;
}

export interface ListQuery {
  active?: boolean | undefined;
  rating?: number[] | undefined;
  category_id?: string | undefined;
  page?: number | undefined;
  page_size?: number | undefined;
  status?: string[] | undefined;
  order_type?: string[] | undefined;
  customer_id?: string | undefined;
  search?: string | undefined;
  created_from?: string | undefined;
  created_to?: string | undefined;
  updated_from?: string | undefined;
  updated_to?: string | undefined;
}

export interface Envelope {
  count: number;
  page: number;
  page_size: number;
  results: Fields[];
}

export class Model {
  readonly #entities = new Map<string, Entity>();
  /** Orders and reviews whose customer was deleted after their last event, or was deleted when it came. */
  readonly #erased = new Set<string>();

  apply({ entity, storeId, subject, sequence, action, data, time: when }: StreamEvent): void {
    const key = `${entity}/${storeId}/${subject}`;
    if (sequence <= (this.#entities.get(key)?.sequence ?? -1)) return;
    const state = action === 'deleted' ? null : (data as Fields);
    this.#entities.set(key, { sequence, data: state, time: when ?? new Date() });
    if (entity === 'order' || entity === 'review') {
      const customer = state === null ? null : customerId(state);
      const isErased =
        customer !== null && this.#entities.get(`customer/${storeId}/${customer}`)?.data === null;
      if (isErased) this.#erased.add(key);
      else this.#erased.delete(key);
    }
    if (entity === 'customer' && state === null) {
      for (const kind of ['order', 'review']) {
        for (const [id, named] of this.#of(kind, storeId)) {
          if (customerId(named) === subject) this.#erased.add(`${kind}/${storeId}/${id}`);
        }
      }
    }
  }

  storeInfo(storeId: string): Fields | null {
    const state = this.#entities.get(`store/${storeId}/${storeId}`)?.data ?? null;
    if (state === null) return null;
    const text = (name: string) => state[name] ?? null;
    return {
      id: storeId,
      name: state['name'],
      legal_name: text('legal_name'),
      document: text('document'),
      phone: text('phone'),
      email: text('email'),
      status: state['status'] ?? 'active',
      timezone_offset: state['timezone_offset'],
      currency: 'BRL',
      order_types: [],
      minimum_order_value: null,
      address: null,
      opening_hours: [],
      created_at: this.#local(storeId, state['created_at']),
      updated_at: this.#updatedAt('store', storeId, storeId),
    };
  }

  customers(storeId: string, query: ListQuery): Envelope {
    const found = this.#of('customer', storeId)
      .filter(([id, state]) => this.#inRange('customer', storeId, id, query) && matches(state, query.search))
      .sort(([idA, a], [idB, b]) => byCodePoint(fold(a['name']), fold(b['name'])) || byCodePoint(idA, idB))
      .map(([id, state]) => ({
        id,
        name: state['name'],
        document: state['document'] ?? null,
        phone: state['phone'] ?? null,
        email: null,
        birth_date: null,
        accepts_marketing: state['accepts_marketing'] ?? false,
        addresses: [],
        created_at: this.#local(storeId, state['created_at']),
        updated_at: this.#updatedAt('customer', storeId, id),
      }));
    return cut(found, query);
  }

  orders(storeId: string, query: ListQuery, naming: 'anyone' | 'a customer'): Envelope {
    const found = this.#of('order', storeId)
      .filter(
        ([id, state]) =>
          this.#inRange('order', storeId, id, query) &&
          (naming === 'anyone' || customerId(state) !== null) &&
          (query.customer_id === undefined || customerId(state) === query.customer_id) &&
          (query.status === undefined || query.status.includes(String(state['status']))) &&
          (query.order_type === undefined || query.order_type.includes(String(state['order_type']))),
      )
      .sort(([idA, a], [idB, b]) => time(b['created_at']) - time(a['created_at']) || byCodePoint(idA, idB))
      .map(([id]) => this.#summary(storeId, id));
    return cut(found, query);
  }

  order(storeId: string, id: string): Fields | null {
    const state = this.#entities.get(`order/${storeId}/${id}`)?.data ?? null;
    if (state === null) return null;
    const history = (state['status_history'] as Fields[] | null) ?? [];
    const items = (state['items'] as Fields[] | null) ?? [];
    return {
      ...this.#summary(storeId, id),
      customer: this.#customer(storeId, id, state, ['name', 'phone', 'document']),
      items: items.map((item) => ({
        id: null,
        product_id: item['product_id'],
        external_code: null,
        name: item['name'],
        quantity: item['quantity'],
        unit_price: item['unit_price'],
        options: [],
        notes: null,
        total: item['total'],
      })),
      delivery: null,
      payments: [],
      coupon: null,
      status_history: history.map(({ status, at }) => ({ status, at: this.#local(storeId, at) })),
      cancellation: null,
      notes: null,
    };
  }

  coupons(storeId: string, query: ListQuery): Envelope {
    const found = this.#newestFirst('coupon', storeId).filter(
      ([, { active }]) => query.active === undefined || active === query.active,
    );
    return cut(
      found.map(([id]) => this.#couponSummary(storeId, id)),
      query,
    );
  }

  coupon(storeId: string, id: string): Fields | null {
    const state = this.#live('coupon', storeId, id);
    if (state === null) return null;
    return {
      ...this.#couponSummary(storeId, id),
      ...picked(state, ['maximum_discount', 'usage_limit', 'usage_count', 'per_customer_limit']),
      order_types: state['order_types'] ?? [],
    };
  }

  #couponSummary(storeId: string, id: string): Fields {
    const state = this.#live('coupon', storeId, id) ?? {};
    return {
      id,
      ...picked(state, [
        'code',
        'description',
        'discount_type',
        'discount_value',
        'minimum_order_value',
        'active',
      ]),
      ...this.#dates(storeId, state, ['starts_at', 'ends_at', 'created_at']),
      updated_at: this.#updatedAt('coupon', storeId, id),
    };
  }

  reviews(storeId: string, query: ListQuery): Envelope {
    const found = this.#newestFirst('review', storeId).filter(
      ([id, state]) =>
        this.#inRange('review', storeId, id, query) &&
        (query.rating === undefined || query.rating.includes(state['rating'] as number)),
    );
    return cut(
      found.map(([id]) => this.#reviewSummary(storeId, id)),
      query,
    );
  }

  review(storeId: string, id: string): Fields | null {
    const state = this.#live('review', storeId, id);
    if (state === null) return null;
    return {
      ...this.#reviewSummary(storeId, id),
      ...picked(state, ['reply']),
      ...this.#dates(storeId, state, ['replied_at']),
    };
  }

  #reviewSummary(storeId: string, id: string): Fields {
    const state = this.#live('review', storeId, id) ?? {};
    const erased = this.#erased.has(`review/${storeId}/${id}`);
    return {
      id,
      ...picked(state, ['order_id', 'customer_id', 'rating', 'comment']),
      customer_name: erased ? null : (state['customer_name'] ?? null),
      ...this.#dates(storeId, state, ['created_at']),
    };
  }

  campaigns(storeId: string, query: ListQuery): Envelope {
    const found = this.#newestFirst('campaign', storeId).filter(
      ([, { status }]) => query.status === undefined || query.status.includes(String(status)),
    );
    return cut(
      found.map(([id]) => this.#campaignSummary(storeId, id)),
      query,
    );
  }

  campaign(storeId: string, id: string): Fields | null {
    const state = this.#live('campaign', storeId, id);
    if (state === null) return null;
    return {
      ...this.#campaignSummary(storeId, id),
      ...picked(state, [
        'message',
        'audience',
        'coupon_id',
        'sent_count',
        'delivered_count',
        'converted_count',
      ]),
    };
  }

  #campaignSummary(storeId: string, id: string): Fields {
    const state = this.#live('campaign', storeId, id) ?? {};
    return {
      id,
      ...picked(state, ['name', 'channel', 'status']),
      ...this.#dates(storeId, state, ['starts_at', 'ends_at', 'created_at']),
      updated_at: this.#updatedAt('campaign', storeId, id),
    };
  }

  categories(storeId: string, query: ListQuery): Envelope {
    return cut(
      this.#sortedCategories(storeId).map(([id]) => this.#categorySummary(storeId, id)),
      query,
    );
  }

  category(storeId: string, id: string): Fields | null {
    const state = this.#live('category', storeId, id);
    if (state === null) return null;
    return {
      ...this.#categorySummary(storeId, id),
      ...this.#dates(storeId, state, ['created_at']),
      updated_at: this.#updatedAt('category', storeId, id),
      product_count: this.#of('product', storeId).filter(([, { category_id }]) => category_id === id).length,
    };
  }

  #sortedCategories(storeId: string): [string, Fields][] {
    return this.#of('category', storeId).sort(
      ([idA, a], [idB, b]) =>
        number(a['position']) - number(b['position']) ||
        byCodePoint(String(a['name']), String(b['name'])) ||
        byCodePoint(idA, idB),
    );
  }

  #categorySummary(storeId: string, id: string): Fields {
    const state = this.#live('category', storeId, id) ?? {};
    return { id, ...picked(state, ['name', 'description', 'position', 'active', 'image_url']) };
  }

  products(storeId: string, query: ListQuery): Envelope {
    const found = this.#sortedProducts(storeId).filter(
      ([id, state]) =>
        this.#inRange('product', storeId, id, query) &&
        (query.category_id === undefined || state['category_id'] === query.category_id),
    );
    return cut(
      found.map(([id]) => this.#productSummary(storeId, id)),
      query,
    );
  }

  product(storeId: string, id: string): Fields | null {
    const state = this.#live('product', storeId, id);
    if (state === null) return null;
    return {
      ...this.#productSummary(storeId, id),
      ...picked(state, ['ean', 'serves']),
      option_groups: this.#optionGroupsOf(storeId, state, () => true),
      ...this.#dates(storeId, state, ['created_at']),
    };
  }

  #sortedProducts(storeId: string): [string, Fields][] {
    const place = ({ category_id: category }: Fields) =>
      category === null || category === undefined
        ? Number.POSITIVE_INFINITY
        : number(
            this.#live('category', storeId, category as string)?.['position'] ?? Number.POSITIVE_INFINITY,
          );
    const compare = (a: number, b: number) => (a === b ? 0 : a - b);
    return this.#of('product', storeId).sort(
      ([idA, a], [idB, b]) =>
        compare(place(a), place(b)) ||
        number(a['position']) - number(b['position']) ||
        byCodePoint(String(a['name']), String(b['name'])) ||
        byCodePoint(idA, idB),
    );
  }

  #productSummary(storeId: string, id: string): Fields {
    const state = this.#live('product', storeId, id) ?? {};
    return {
      id,
      ...picked(state, [
        'category_id',
        'name',
        'description',
        'price',
        'promotional_price',
        'active',
        'position',
      ]),
      ...picked(state, ['image_url', 'external_code']),
      updated_at: this.#updatedAt('product', storeId, id),
    };
  }

  optionGroups(storeId: string, query: ListQuery): Envelope {
    const found = this.#of('option_group', storeId).sort(
      ([idA, a], [idB, b]) => byCodePoint(fold(a['name']), fold(b['name'])) || byCodePoint(idA, idB),
    );
    return cut(
      found.map(([id, state]) => optionGroup(id, state, () => true)),
      query,
    );
  }

  #optionGroupsOf(storeId: string, product: Fields, shows: (option: Fields) => boolean): Fields[] {
    const ids = (product['option_group_ids'] ?? []) as string[];
    return ids.flatMap((id) => {
      const state = this.#live('option_group', storeId, id);
      return state === null ? [] : [optionGroup(id, state, shows)];
    });
  }

  menu(storeId: string): Fields {
    const updates: string[] = [];
    const categories = this.#sortedCategories(storeId).flatMap(([id, state]) => {
      const products = this.#sortedProducts(storeId).filter(
        ([, product]) => product['category_id'] === id && product['active'] === true,
      );
      if (state['active'] !== true || products.length === 0) return [];
      updates.push(String(this.#updatedAt('category', storeId, id)));
      return [
        {
          ...this.#categorySummary(storeId, id),
          products: products.map(([productId, product]) => {
            updates.push(String(this.#updatedAt('product', storeId, productId)));
            return {
              ...this.#productSummary(storeId, productId),
              option_groups: this.#optionGroupsOf(storeId, product, ({ active }) => active !== false),
            };
          }),
        },
      ];
    });
    return { store_id: storeId, updated_at: updates.sort().at(-1) ?? null, categories };
  }

  #live(entity: string, storeId: string, id: string): Fields | null {
    return this.#entities.get(`${entity}/${storeId}/${id}`)?.data ?? null;
  }

  #newestFirst(entity: string, storeId: string): [string, Fields][] {
    return this.#of(entity, storeId).sort(
      ([idA, a], [idB, b]) => time(b['created_at']) - time(a['created_at']) || byCodePoint(idA, idB),
    );
  }

  #dates(storeId: string, state: Fields, names: string[]): Fields {
    return Object.fromEntries(names.map((name) => [name, this.#local(storeId, state[name])]));
  }

  #updatedAt(entity: string, storeId: string, id: string): string | null {
    const stored = this.#entities.get(`${entity}/${storeId}/${id}`);
    return this.#local(storeId, stored?.data?.['updated_at'] ?? stored?.time.toISOString());
  }

  #summary(storeId: string, id: string): Fields {
    const state = this.#entities.get(`order/${storeId}/${id}`)?.data ?? {};
    const items = (state['items'] as { quantity: number }[] | null) ?? [];
    return {
      id,
      display_id: state['display_id'] ?? null,
      status: state['status'],
      order_type: state['order_type'],
      sales_channel: null,
      customer: this.#customer(storeId, id, state, ['name', 'phone']),
      item_count: items.reduce((sum, { quantity }) => sum + quantity, 0),
      subtotal: null,
      delivery_fee: state['delivery_fee'] ?? '0.00',
      service_fee: '0.00',
      discount: '0.00',
      total: state['total'],
      scheduled_for: this.#local(storeId, state['scheduled_for']),
      created_at: this.#local(storeId, state['created_at']),
      updated_at: this.#updatedAt('order', storeId, id),
    };
  }

  #customer(storeId: string, id: string, state: Fields, fields: string[]): Fields | null {
    const customer = state['customer'] as Fields | null;
    if (customer === null || customer === undefined) return null;
    const erased = this.#erased.has(`order/${storeId}/${id}`);
    return {
      id: customer['id'],
      ...Object.fromEntries(fields.map((field) => [field, erased ? null : (customer[field] ?? null)])),
    };
  }

  #of(entity: string, storeId: string): [string, Fields][] {
    const prefix = `${entity}/${storeId}/`;
    return [...this.#entities].flatMap(([key, { data }]): [string, Fields][] =>
      key.startsWith(prefix) && data !== null ? [[key.slice(prefix.length), data]] : [],
    );
  }

  /** The store's present `timezone_offset`. */
  offset(storeId: string): string {
    const store = this.#entities.get(`store/${storeId}/${storeId}`)?.data;
    return (store?.['timezone_offset'] ?? '-03:00') as string;
  }

  #offsetMinutes(storeId: string): number {
    const offset = this.offset(storeId);
    const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4));
    return offset.startsWith('-') ? -minutes : minutes;
  }

  #local(storeId: string, value: unknown): string | null {
    if (value === null || value === undefined) return null;
    return new Date(time(value) + this.#offsetMinutes(storeId) * 60_000).toISOString().slice(0, 19);
  }

  /** Local texts compare as their seconds do: bounds are whole seconds and include their own. */
  #inRange(entity: string, storeId: string, id: string, query: ListQuery): boolean {
    const created = String(this.#local(storeId, this.#live(entity, storeId, id)?.['created_at']));
    const updated = String(this.#updatedAt(entity, storeId, id));
    return (
      (query.created_from === undefined || created >= query.created_from) &&
      (query.created_to === undefined || created <= query.created_to) &&
      (query.updated_from === undefined || updated >= query.updated_from) &&
      (query.updated_to === undefined || updated <= query.updated_to)
    );
  }
}

function customerId(named: Fields): string | null {
  const customer = named['customer'] as { id: string } | null | undefined;
  return customer?.id ?? ((named['customer_id'] ?? null) as string | null);
}

function picked(state: Fields, names: string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, state[name] ?? null]));
}

function number(value: unknown): number {
  return value as number;
}

function optionGroup(id: string, state: Fields, shows: (option: Fields) => boolean): Fields {
  const options = (state['options'] as Fields[])
    .map((option): Fields => ({
      ...picked(option, ['id', 'name', 'description', 'price', 'max_quantity', 'external_code']),
      active: option['active'] ?? true,
      position: option['position'] ?? 0,
    }))
    .sort(
      (a, b) =>
        number(a['position']) - number(b['position']) || byCodePoint(String(a['id']), String(b['id'])),
    );
  return {
    id,
    ...picked(state, ['name', 'min', 'max', 'price_method', 'external_code']),
    position: state['position'] ?? 0,
    options: options.filter(shows),
  };
}

function time(value: unknown): number {
  return Date.parse(String(value));
}

function fold(name: unknown): string {
  return String(name).normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

function byCodePoint(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => Array.from(text, (character) => character.codePointAt(0) ?? 0));
  for (const [index, point] of (left ?? []).entries()) {
    const other = right?.[index];
    if (other === undefined) return 1;
    if (point !== other) return point - other;
  }
  return (left?.length ?? 0) - (right?.length ?? 0);
}

function matches(customer: Fields, search: string | undefined): boolean {
  if (search === undefined) return true;
  const text = search.trim();
  if (fold(customer['name']).includes(fold(text))) return true;
  const document = (customer['document'] ?? '') as string;
  const phone = (customer['phone'] ?? '') as string;
  if (!/[0-9]/.test(text)) return false;
  const digits = (value: string) => value.replaceAll(/[^0-9]/g, '');
  if (/^[0-9\s+\-./()]*$/.test(text)) {
    return digits(document).includes(digits(text)) || digits(phone).includes(digits(text));
  }
  const letters = (value: string) => value.replaceAll(/[^\p{L}\p{Nd}]/gu, '').toLowerCase();
  return /\p{L}/u.test(text) && letters(document).includes(letters(text));
}

function cut(found: Fields[], { page = 1, page_size: size = 20 }: ListQuery): Envelope {
  const pageSize = Math.min(size, 100);
  return {
    count: found.length,
    page,
    page_size: pageSize,
    results: found.slice((page - 1) * pageSize, page * pageSize),
  };
}
