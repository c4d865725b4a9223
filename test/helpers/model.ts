/**
 * The contract as a plain in-memory model: applies events one by one; filters, sorts and pages
 * arrays. It follows docs/rules.md and shares no code with the services, so that both agree only if
 * both are right.
 */
import type { StreamEvent } from './streams.ts';
import { words } from './words.ts';

type Fields = Record<string, unknown>;
interface Entity {
  sequence: number;
  /** `null` after a deletion. */
  data: Fields | null;
  time: Date;
}

/** Filters that are not named here compare the field of their name. */
export interface ListQuery {
  [filter: string]: unknown;
  page?: number | undefined;
  page_size?: number | undefined;
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

/** The field names of list entries, and of details. */
const SHOWN: Record<string, string[][]> = {
  store: [
    words(
      'name legal_name document phone email status timezone_offset currency order_types minimum_order_value',
      'address opening_hours created_at updated_at',
    ),
  ],
  customer: [
    words('name document phone email birth_date accepts_marketing addresses created_at updated_at'),
  ],
  order: [
    words(
      'display_id status order_type sales_channel customer item_count subtotal delivery_fee service_fee',
      'discount total scheduled_for created_at updated_at',
    ),
    words('items delivery payments coupon status_history cancellation notes'),
  ],
  coupon: [
    words(
      'code description discount_type discount_value minimum_order_value active starts_at ends_at',
      'created_at updated_at',
    ),
    words('maximum_discount usage_limit usage_count per_customer_limit order_types'),
  ],
  review: [
    words('order_id customer_id customer_name rating comment created_at'),
    words('reply replied_at'),
  ],
  campaign: [
    words('name channel status starts_at ends_at created_at updated_at'),
    words('message audience coupon_id sent_count delivered_count converted_count'),
  ],
  category: [
    words('name description position active image_url'),
    words('created_at updated_at product_count'),
  ],
  product: [
    words(
      'category_id name description price promotional_price active position image_url external_code',
      'updated_at',
    ),
    words('ean serves option_groups created_at'),
  ],
  option_group: [words('name min max price_method position external_code options')],
};

/** The shown values of absent fields; other fields are `null`. */
const DEFAULTS: Fields = {
  accepts_marketing: false,
  currency: 'BRL',
  delivery_fee: '0.00',
  discount: '0.00',
  order_types: [],
  position: 0,
  service_fee: '0.00',
  // Of a store; all other kinds always have one.
  status: 'active',
};

/** Parameters that do not compare the field of their name. */
const OWN_RULES = new Set(
  words('page page_size search customer_id created_from created_to updated_from updated_to'),
);

type Named = [id: string, state: Fields];
/** Values to compare one after the other. */
type Key = readonly (number | string)[];

export class Model {
  readonly #entities = new Map<string, Entity>();
  /** Orders and reviews whose customer was deleted after their last event, or when it arrived. */
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

  /** @param ofCustomers leaves out orders without a customer. */
  list(kind: string, storeId: string, query: ListQuery, ofCustomers = false): Envelope {
    const { page = 1, page_size: size = 20 } = query;
    const pageSize = Math.min(size, 100);
    const found = this.#sorted(kind, storeId)
      .filter((one) => this.#isWanted(kind, storeId, one, query))
      .filter(([, state]) => !ofCustomers || customerId(state) !== null);
    return {
      count: found.length,
      page,
      page_size: pageSize,
      results: found
        .slice((page - 1) * pageSize, page * pageSize)
        .map(([id]) => this.#shown(kind, storeId, id)),
    };
  }

  /** The answer of a details endpoint. */
  record(kind: string, storeId: string, id: string): Fields | null {
    if (this.#live(kind, storeId, id) === null) return null;
    return { ...this.#shown(kind, storeId, id), ...this.#shown(kind, storeId, id, 'details') };
  }

  #sorted(kind: string, storeId: string): Named[] {
    return this.#of(kind, storeId)
      .map((one) => ({ one, key: this.#sortKey(kind, storeId, one) }))
      .sort((a, b) => compared(a.key, b.key))
      .map(({ one }) => one);
  }

  #sortKey(kind: string, storeId: string, [id, state]: Named): Key {
    const place = [number(state['position']), String(state['name']), id];
    if (kind === 'customer' || kind === 'option_group') return [fold(state['name']), id];
    if (kind === 'category') return place;
    if (kind !== 'product') return [-time(state['created_at']), id];
    const category = this.#live('category', storeId, String(state['category_id']));
    return [number(category?.['position'] ?? Number.MAX_VALUE), ...place];
  }

  #isWanted(kind: string, storeId: string, [id, state]: Named, query: ListQuery): boolean {
    const others = Object.entries(query).filter(([name]) => !OWN_RULES.has(name));
    return (
      this.#inRange(kind, storeId, id, query) &&
      (query.customer_id === undefined || customerId(state) === query.customer_id) &&
      matches(state, query.search) &&
      others.every(
        ([name, wanted]) =>
          wanted === undefined || ([wanted].flat() as unknown[]).includes(state[name]),
      )
    );
  }

  /** The fields of a list entry, or those that only details show. */
  #shown(kind: string, storeId: string, id: string, of: 'summary' | 'details' = 'summary'): Fields {
    const state = this.#live(kind, storeId, id) ?? {};
    const isErased = this.#erased.has(`${kind}/${storeId}/${id}`);
    const lists = (name: string) => (state[name] as Fields[] | null | undefined) ?? [];
    const part = (name: string, show: (value: Fields) => Fields) =>
      state[name] === null || state[name] === undefined ? null : show(state[name] as Fields);
    const made: Record<string, () => unknown> = {
      updated_at: () => this.#updatedAt(kind, storeId, id),
      item_count: () => lists('items').reduce((sum, { quantity }) => sum + number(quantity), 0),
      customer: () => customerOf(state, isErased, ['name', 'phone']),
      customer_name: () => (isErased ? null : (state['customer_name'] ?? null)),
      items: () =>
        lists('items').map((item) => ({
          ...picked(
            item,
            words('id product_id external_code name quantity unit_price notes total'),
          ),
          options: pickedAll(
            item['options'],
            words('option_group_id option_id external_code name quantity unit_price'),
          ),
        })),
      address: () => addressOf(state),
      addresses: () => lists('addresses').map((address) => addressOf({ address })),
      opening_hours: () => pickedAll(state['opening_hours'], words('weekday opens closes')),
      delivery: () =>
        part('delivery', (delivery) => ({
          address: addressOf(delivery),
          fee: delivery['fee'] ?? null,
          estimated_at: this.#local(storeId, delivery['estimated_at']),
        })),
      payments: () => pickedAll(state['payments'], words('method type amount change_for')),
      coupon: () => part('coupon', (coupon) => picked(coupon, words('id code'))),
      cancellation: () =>
        part('cancellation', ({ reason = null, at }) => ({ reason, at: this.#local(storeId, at) })),
      status_history: () =>
        lists('status_history').map(({ status = null, at }) => ({
          status,
          at: this.#local(storeId, at),
        })),
      product_count: () =>
        this.#of('product', storeId).filter(([, { category_id: category }]) => category === id)
          .length,
      option_groups: () => this.#optionGroupsOf(storeId, state, () => true),
      options: () => optionsOf(state, () => true),
    };
    const valueOf = (name: string) =>
      made[name] !== undefined
        ? made[name]()
        : /_(?:at|for)$/.test(name)
          ? this.#local(storeId, state[name])
          : (state[name] ?? DEFAULTS[name] ?? null);
    const [summary = [], details = []] = SHOWN[kind] ?? [];
    const names = of === 'summary' ? summary : details;
    const shown = Object.fromEntries(names.map((name) => [name, valueOf(name)]));
    if (of === 'summary') return { id, ...shown };
    if (kind !== 'order') return shown;
    return { ...shown, customer: customerOf(state, isErased, ['name', 'phone', 'document']) };
  }

  #optionGroupsOf(storeId: string, product: Fields, shows: (option: Fields) => boolean): Fields[] {
    const ids = (product['option_group_ids'] ?? []) as string[];
    return ids.flatMap((id) => {
      const state = this.#live('option_group', storeId, id);
      if (state === null) return [];
      return [{ ...this.#shown('option_group', storeId, id), options: optionsOf(state, shows) }];
    });
  }

  menu(storeId: string): Fields {
    const updates: string[] = [];
    const categories = this.#sorted('category', storeId).flatMap(([id, state]) => {
      const products = this.#sorted('product', storeId).filter(
        ([, product]) => product['category_id'] === id && product['active'] === true,
      );
      if (state['active'] !== true || products.length === 0) return [];
      updates.push(String(this.#updatedAt('category', storeId, id)));
      return [
        {
          ...this.#shown('category', storeId, id),
          products: products.map(([productId, product]) => {
            updates.push(String(this.#updatedAt('product', storeId, productId)));
            return {
              ...this.#shown('product', storeId, productId),
              option_groups: this.#optionGroupsOf(
                storeId,
                product,
                ({ active }) => active !== false,
              ),
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

  #updatedAt(entity: string, storeId: string, id: string): string | null {
    const stored = this.#entities.get(`${entity}/${storeId}/${id}`);
    return this.#local(storeId, stored?.data?.['updated_at'] ?? stored?.time.toISOString());
  }

  #of(entity: string, storeId: string): Named[] {
    const prefix = `${entity}/${storeId}/`;
    return [...this.#entities].flatMap(([key, { data }]): Named[] =>
      key.startsWith(prefix) && data !== null ? [[key.slice(prefix.length), data]] : [],
    );
  }

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

  /** Local date-times compare like their seconds; bounds are inclusive whole seconds. */
  #inRange(entity: string, storeId: string, id: string, query: ListQuery): boolean {
    const created = this.#local(storeId, this.#live(entity, storeId, id)?.['created_at']);
    const within = (local: string, from = '', to = '\uffff') => from <= local && local <= to;
    return (
      within(String(created), query.created_from, query.created_to) &&
      within(String(this.#updatedAt(entity, storeId, id)), query.updated_from, query.updated_to)
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

function pickedAll(list: unknown, names: string[]): Fields[] {
  return ((list ?? []) as Fields[]).map((entry) => picked(entry, names));
}

function addressOf({ address }: Fields): Fields | null {
  const names =
    'street number complement district city state postal_code reference latitude longitude';
  return address === null || address === undefined ? null : picked(address as Fields, words(names));
}

function number(value: unknown): number {
  return value as number;
}

function customerOf({ customer }: Fields, isErased: boolean, names: string[]): Fields | null {
  if (customer === null || customer === undefined) return null;
  const { id, ...known } = customer as Fields;
  return { id, ...picked(isErased ? {} : known, names) };
}

const placeOf = ({ position, id }: Fields): Key => [number(position), String(id)];

function optionsOf(group: Fields, shows: (option: Fields) => boolean): Fields[] {
  return (group['options'] as Fields[])
    .map((option): Fields => ({
      ...picked(option, words('id name description price max_quantity external_code')),
      active: option['active'] ?? true,
      position: option['position'] ?? 0,
    }))
    .sort((a, b) => compared(placeOf(a), placeOf(b)))
    .filter(shows);
}

function time(value: unknown): number {
  return Date.parse(String(value));
}

function fold(name: unknown): string {
  return String(name).normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

function compared(a: Key, b: Key): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  const [left = '', right = ''] = [a[at], b[at]];
  return typeof left === 'number'
    ? left - number(right)
    : // UTF-8 sorts like code points.
      Buffer.compare(Buffer.from(left), Buffer.from(String(right)));
}

function matches(customer: Fields, search: string | undefined): boolean {
  if (search === undefined) return true;
  const text = search.trim();
  if (fold(customer['name']).includes(fold(text))) return true;
  const document = (customer['document'] ?? '') as string;
  const phone = (customer['phone'] ?? '') as string;
  if (!/[0-9]/.test(text)) return false;
  const digits = (value: string) => value.replaceAll(/[^0-9]/g, '');
  if (/^[0-9\s+./()\p{Pd}\p{Cf}]*$/u.test(text)) {
    return digits(document).includes(digits(text)) || digits(phone).includes(digits(text));
  }
  const letters = (value: string) => value.replaceAll(/[^\p{L}\p{Nd}]/gu, '').toLowerCase();
  return /\p{L}/u.test(text) && letters(document).includes(letters(text));
}
