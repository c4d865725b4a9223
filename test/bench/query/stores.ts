/**
 * Stores of very different size. Their records are variations of the examples in docs/events.md.
 */
import { type EntityName, type EntityStates } from '#shared/events/entities.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { ORDER_TYPES } from '#shared/records/store.ts';
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

/** A store has as many reviews as customers, a category for twelve products, and three groups. */
export interface StoreSize {
  storeId: string;
  orders: number;
  customers: number;
  products: number;
}

/** One large store, four with a twentieth and fifteen with a two thousandth of its orders. */
export function mixedStores(most: number): StoreSize[] {
  return [1, ...Array(4).fill(20), ...Array(15).fill(2_000)].map((share: number, index) => {
    const orders = Math.ceil(most / share);
    return {
      storeId: `store-${index}`,
      orders,
      customers: Math.max(40, Math.ceil(orders / 10)),
      products: 12 * (orders > 50_000 ? 40 : orders > 1_000 ? 20 : 8),
    };
  });
}

export function storeOf({ storeId, customers, orders, products }: StoreSize): BenchStore {
  const [categories, groups] = [products / 12, products / 4];
  function* records(): Generator<StoreRecord> {
    yield storeRecord(storeId);
    yield* times(categories, categoryRecord);
    yield* times(groups, optionGroupRecord);
    yield* times(products, (index) => productRecord(index, categories, groups));
    yield* times(customers, customerRecord);
    yield* times(orders, (index) => orderRecord(index, customers));
    yield* times(customers, (index) => reviewRecord(index, customers));
  }
  const size = 1 + categories + groups + products + orders + 2 * customers;
  return { storeId, size, records: { [Symbol.iterator]: records } };
}

function* times(count: number, make: (index: number) => StoreRecord): Generator<StoreRecord> {
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

/** The element at an index modulo the length. */
export function pick<T>(list: readonly T[], index: number): T {
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
  return {
    name: fullName(index),
    phone: `+55119${String(index).padStart(8, '0')}`,
    document: String(index).padStart(11, '0'),
  };
}

/** Times of a creation and a later change. */
const madeAt = (index: number, later = 5) => ({
  created_at: instantAt(index),
  updated_at: instantAt(index + later),
});
/** The customer of an order or review; only half of a store's customers have any. */
const personOf = (index: number, customers: number) => (index * 13) % Math.ceil(customers / 2);

/** The example of the entity with some fields of its own. */
function recordOf<E extends EntityName>(
  entity: E,
  id: string,
  own: (example: EntityStates[E]) => Partial<EntityStates[E]>,
): EntityRecord<E> {
  const example = exampleEvent(entity).data as EntityStates[E];
  return { entity, id, state: { ...example, ...own(example) } };
}

export function storeRecord(storeId: string): StoreRecord {
  return recordOf('store', storeId, () => ({ timezone_offset: '-04:00' }));
}

function categoryRecord(index: number): StoreRecord {
  return recordOf('category', `k${index}`, () => ({
    name: `Categoria ${index}`,
    position: index,
    ...madeAt(index),
  }));
}

function productRecord(index: number, categories: number, groups: number): StoreRecord {
  const first = (index * 2) % groups;
  return recordOf('product', `p${index}`, () => ({
    category_id: `k${index % categories}`,
    name: `Pizza ${index}`,
    active: index % 20 !== 19,
    position: Math.floor(index / categories),
    option_group_ids: [`g${first}`, `g${(first + 1) % groups}`],
    ...madeAt(index),
  }));
}

function optionGroupRecord(index: number): StoreRecord {
  return recordOf('option_group', `g${index}`, ({ options }) => ({
    name: `Sabores ${index}`,
    options: [0, 1, 2, 3].flatMap((position) =>
      options.slice(0, 1).map((option) => ({
        ...option,
        id: `a${index}-${position}`,
        active: (index + position) % 7 !== 0,
        position,
      })),
    ),
  }));
}

function customerRecord(index: number): StoreRecord {
  return recordOf('customer', `c${index}`, () => ({ ...contactOf(index), ...madeAt(index, 50) }));
}

/** Seven of twenty orders are not concluded. */
const STATUSES = [...ORDER_STATUSES, ...Array<'concluded'>(12).fill('concluded')];

/** An order, mostly concluded; four fifths name a customer. */
export function orderRecord(index: number, customers: number): EntityRecord<'order'> {
  const person = personOf(index, customers);
  return recordOf('order', `o${index}`, ({ items }) => ({
    display_id: `#${1_000 + index}`,
    // The steps are coprime to the lengths, so that all combinations occur.
    status: pick(STATUSES, index * 7),
    order_type: pick(ORDER_TYPES, Math.floor(index / 20)),
    customer: index % 5 === 0 ? null : { id: `c${person}`, ...contactOf(person) },
    scheduled_for: index % 10 === 0 ? instantAt(index + 3) : null,
    // Less than the example, so that 100,000 on both sides fit into the cache of the local MongoDB.
    items: items?.slice(0, 1) ?? [],
    cancellation: null,
    ...madeAt(index, 1),
  }));
}

function reviewRecord(index: number, customers: number): StoreRecord {
  const person = personOf(index, customers);
  return recordOf('review', `r${index}`, () => ({
    order_id: `o${index}`,
    customer_id: `c${person}`,
    customer_name: fullName(person),
    rating: 1 + ((index * 3) % 5),
    created_at: instantAt(index),
  }));
}
