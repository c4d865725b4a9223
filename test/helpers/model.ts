/**
 * The contract as a plain in-memory model: events are applied one by one, lists are filtered, sorted and cut with arrays.
 * Written from CONTRACT.md alone, sharing no code with the services, so that both can only agree by being right.
 */
import type { StreamEvent } from './streams.ts';

type Fields = Record<string, unknown>;
interface Entity {
  sequence: number;
  /** `null` once deleted. */
  data: Fields | null;
}

export interface ListQuery {
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
  /** Orders whose customer was deleted after their last event, or was deleted when it came. */
  readonly #erased = new Set<string>();

  apply({ entity, storeId, subject, sequence, action, data }: StreamEvent): void {
    const key = `${entity}/${storeId}/${subject}`;
    if (sequence <= (this.#entities.get(key)?.sequence ?? -1)) return;
    const state = action === 'deleted' ? null : (data as Fields);
    this.#entities.set(key, { sequence, data: state });
    if (entity === 'order') {
      const customer = state === null ? null : customerId(state);
      const isErased =
        customer !== null && this.#entities.get(`customer/${storeId}/${customer}`)?.data === null;
      if (isErased) this.#erased.add(key);
      else this.#erased.delete(key);
    }
    if (entity === 'customer' && state === null) {
      for (const [id, order] of this.#of('order', storeId)) {
        if (customerId(order) === subject) this.#erased.add(`order/${storeId}/${id}`);
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
      updated_at: this.#local(storeId, state['updated_at'] ?? state['created_at']),
    };
  }

  customers(storeId: string, query: ListQuery): Envelope {
    const found = this.#of('customer', storeId)
      .filter(([, state]) => this.#inRange(storeId, state, query) && matches(state, query.search))
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
        updated_at: this.#local(storeId, state['updated_at'] ?? state['created_at']),
      }));
    return cut(found, query);
  }

  orders(storeId: string, query: ListQuery, naming: 'anyone' | 'a customer'): Envelope {
    const found = this.#of('order', storeId)
      .filter(
        ([, state]) =>
          this.#inRange(storeId, state, query) &&
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
      updated_at: this.#local(storeId, state['updated_at'] ?? state['created_at']),
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

  #offsetMinutes(storeId: string): number {
    const store = this.#entities.get(`store/${storeId}/${storeId}`)?.data;
    const offset = (store?.['timezone_offset'] ?? '-03:00') as string;
    const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4));
    return offset.startsWith('-') ? -minutes : minutes;
  }

  #local(storeId: string, value: unknown): string | null {
    if (value === null || value === undefined) return null;
    return new Date(time(value) + this.#offsetMinutes(storeId) * 60_000).toISOString().slice(0, 19);
  }

  /** Local texts compare as their seconds do: bounds are whole seconds and include their own. */
  #inRange(storeId: string, state: Fields, query: ListQuery): boolean {
    const created = String(this.#local(storeId, state['created_at']));
    const updated = String(this.#local(storeId, state['updated_at'] ?? state['created_at']));
    return (
      (query.created_from === undefined || created >= query.created_from) &&
      (query.created_to === undefined || created <= query.created_to) &&
      (query.updated_from === undefined || updated >= query.updated_from) &&
      (query.updated_to === undefined || updated <= query.updated_to)
    );
  }
}

function customerId(order: Fields): string | null {
  const customer = order['customer'] as { id: string } | null | undefined;
  return customer?.id ?? null;
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
