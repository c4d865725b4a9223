/**
 * Stores of very different size. Their records are variations of the examples in docs/events.md.
 */
import { type EntityName, type EntityStates } from '#shared/events/entities.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { words } from '#test/words.ts';

export interface EntityRecord<E extends EntityName> {
  entity: E;
  id: string;
  state: EntityStates[E];
}
export type StoreRecord = { [E in EntityName]: EntityRecord<E> }[EntityName];

/** A store, ordered so that the projector rewrites the fewest documents. */
export interface BenchStore {
  storeId: string;
  size: number;
  /** Generated in each iteration, since millions of them would fill the memory. */
  records: Iterable<StoreRecord>;
}

export interface StoreSize {
  storeId: string;
  orders: number;
  customers: number;
  products: number;
  categories: number;
  groups: number;
  reviews: number;
}

/** One large store, four with a twentieth and fifteen with a two thousandth of its orders. */
export function mixedStores(orders: number): StoreSize[] {
  const sizes = [orders, ...Array.from({ length: 4 }, () => orders / 20)];
  return [...sizes, ...Array.from({ length: 15 }, () => orders / 2_000)].map((size, index) =>
    sizeOf(`store-${index}`, Math.ceil(size)),
  );
}

/** A store with plausible numbers of other records. */
function sizeOf(storeId: string, orders: number): StoreSize {
  const categories = orders > 50_000 ? 40 : orders > 1_000 ? 20 : 8;
  const few = Math.max(40, Math.ceil(orders / 10));
  const products = categories * 12;
  return {
    storeId,
    orders,
    customers: few,
    products,
    categories,
    groups: products / 4,
    reviews: few,
  };
}

export function storeOf({ storeId, customers, orders, ...size }: StoreSize): BenchStore {
  const { products, categories, groups, reviews } = size;
  function* records(): Generator<StoreRecord> {
    yield storeRecord(storeId);
    yield* times(categories, categoryRecord);
    yield* times(groups, optionGroupRecord);
    yield* times(products, (index) => productRecord(index, categories, groups));
    yield* times(customers, customerRecord);
    yield* times(orders, (index) => orderRecord(index, customers));
    yield* times(reviews, (index) => reviewRecord(index, customers));
  }
  const total = 1 + categories + groups + products + customers + orders + reviews;
  return { storeId, size: total, records: { [Symbol.iterator]: records } };
}

export function* times(
  count: number,
  make: (index: number) => StoreRecord,
): Generator<StoreRecord> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

/** @yields arrays of `size` elements; the last may be shorter. */
export function* chunksOf<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const each of all) {
    chunk.push(each);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

const BEGIN = Date.parse('2026-01-01T12:00:00Z');
const STEP_MS = 731_417;

/** Different instants with fractions of a second; ten thousand span three months. */
export function instantAt(index: number): string {
  return new Date(BEGIN + index * STEP_MS).toISOString();
}

function money(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** The element at an index modulo the length. */
function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

const FIRST = words(
  'Ana João Maria José Antônia Lúcia Paulo Márcia Sebastião Fernanda',
  'Luís Juliana Vinícius Patrícia André Camila Débora Rafael Bruna Zélia',
);
const MIDDLE = words('Aparecida Carlos Graças Henrique Cristina Fátima Eduardo');
const LAST = words('Silva Souza Gonçalves Conceição Araújo Pereira Magalhães Lima');

export function fullName(index: number): string {
  return `${pick(FIRST, index)} ${pick(MIDDLE, Math.floor(index / 20))} ${pick(LAST, Math.floor(index / 140))}`;
}

function contactOf(index: number) {
  const phone = `+55 11 9${String(10_000_000 + ((index * 7_919) % 89_999_999)).replace(/(\d{4})$/, '-$1')}`;
  const digits = String(10_000_000_000 + ((index * 104_729) % 89_999_999_999));
  return {
    name: fullName(index),
    phone,
    document: digits.replace(/(\d{3})(\d{3})(\d{3})(\d{2})/, '$1.$2.$3-$4'),
  };
}

const example = <E extends EntityName>(entity: E) => exampleEvent(entity).data as EntityStates[E];
/** Times of a creation and a later change. */
const madeAt = (index: number, later = 5) => ({
  created_at: instantAt(index),
  updated_at: instantAt(index + later),
});
/** The customer of an order or review; only half of a store's customers have any. */
const personOf = (index: number, customers: number) =>
  (index * 13) % Math.max(1, Math.floor(customers / 2));

export function storeRecord(storeId: string): StoreRecord {
  return {
    entity: 'store',
    id: storeId,
    state: { ...example('store'), timezone_offset: '-04:00', ...madeAt(0) },
  };
}

function categoryRecord(index: number): StoreRecord {
  const state = {
    ...example('category'),
    name: `Categoria ${index}`,
    position: index,
    ...madeAt(index),
  };
  return { entity: 'category', id: `k${index}`, state };
}

function productRecord(index: number, categories: number, groups: number): StoreRecord {
  const first = (index * 2) % groups;
  const state = {
    ...example('product'),
    category_id: `k${index % categories}`,
    name: `Pizza ${index}`,
    price: money(1_990 + (index % 4_000)),
    active: index % 20 !== 19,
    position: Math.floor(index / categories),
    option_group_ids: [`g${first}`, `g${(first + 1) % groups}`],
    ...madeAt(index),
  };
  return { entity: 'product', id: `p${index}`, state };
}

function optionGroupRecord(index: number): StoreRecord {
  const group = example('option_group');
  const options = [0, 1, 2, 3].flatMap((option) =>
    group.options.slice(0, 1).map((one) => ({
      ...one,
      id: `a${index}-${option}`,
      name: `Sabor ${option}`,
      active: (index + option) % 7 !== 0,
      position: option,
    })),
  );
  return {
    entity: 'option_group',
    id: `g${index}`,
    state: { ...group, name: `Sabores ${index}`, options },
  };
}

function customerRecord(index: number): StoreRecord {
  const state = {
    ...example('customer'),
    ...contactOf(index),
    email: `c${index}@mail.example`,
    ...madeAt(index, 50),
  };
  return { entity: 'customer', id: `c${index}`, state };
}

/** Seven of twenty orders are not concluded. */
const STATUSES = [
  ...([
    'pending',
    'confirmed',
    'preparing',
    'ready',
    'dispatched',
    'delivered',
    'cancelled',
  ] as const),
  ...Array.from({ length: 13 }, () => 'concluded' as const),
];
const TYPES = ['delivery', 'delivery', 'takeout', 'delivery', 'indoor'] as const;

/** An order, mostly concluded; four fifths name a customer. */
export function orderRecord(index: number, customers: number): EntityRecord<'order'> {
  const order = example('order');
  // The steps are coprime to the lengths, so that all combinations occur.
  const status = pick(STATUSES, index * 7);
  const orderType = pick(TYPES, Math.floor(index / 20));
  const person = personOf(index, customers);
  const lines = Array.from({ length: 1 + (index % 3) }, (_, line) => index + line);
  const state = {
    ...order,
    display_id: `#${1_000 + index}`,
    status,
    order_type: orderType,
    customer: index % 5 === 0 ? null : { id: `c${person}`, ...contactOf(person) },
    total: money(3_000 + ((index * 37) % 12_000)),
    scheduled_for: index % 10 === 0 ? instantAt(index + 3) : null,
    items: lines.flatMap((line) =>
      (order.items ?? [])
        .slice(0, 1)
        .map((item) => ({ ...item, id: `i${line}`, product_id: `p${line % 500}` })),
    ),
    delivery: orderType === 'delivery' ? (order.delivery ?? null) : null,
    status_history: [
      { status: 'pending' as const, at: instantAt(index) },
      { status, at: instantAt(index + 1) },
    ],
    cancellation:
      status === 'cancelled' ? { reason: 'o cliente desistiu', at: instantAt(index + 1) } : null,
    ...madeAt(index, 1),
  };
  return { entity: 'order', id: `o${index}`, state };
}

function reviewRecord(index: number, customers: number): StoreRecord {
  const person = personOf(index, customers);
  const state = {
    ...example('review'),
    order_id: `o${index}`,
    customer_id: `c${person}`,
    customer_name: fullName(person),
    rating: 1 + ((index * 3) % 5),
    created_at: instantAt(index),
  };
  return { entity: 'review', id: `r${index}`, state };
}
