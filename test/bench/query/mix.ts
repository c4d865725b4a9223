/**
 * Random requests of integrations to stores of very different size, for pages, filters and records.
 * Seeded, so that runs are equal.
 */
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { fullName, instantAt, type StoreSize } from './stores.ts';

export interface MixedRequest {
  storeId: string;
  path: string;
}

export interface MixedRow {
  name: string;
  requests: readonly MixedRequest[];
  /** Whether the client sends the entity tag of the previous answer. */
  isPoll: boolean;
  isWritten: boolean;
}

const REQUESTS = 300;
const PAGE_SIZE = 20;

type Random = (below: number) => number;
type PathOf = (store: StoreSize, random: Random) => string;

const pageOf = (records: number, random: Random) => 1 + random(Math.ceil(records / PAGE_SIZE));

/** The name, the share of the mixed load in percent, and the path. */
const KINDS: readonly [name: string, percent: number, pathOf: PathOf][] = [
  ['store info', 5, () => '/api/store/info/'],
  ['orders, first page', 20, () => '/api/order/list'],
  [
    'orders, any page',
    10,
    ({ orders }, random) => `/api/order/list?page=${pageOf(orders, random)}`,
  ],
  ['orders by status and date', 15, statusAndDate],
  ['order details', 20, ({ orders }, random) => `/api/order/details/?order_id=o${random(orders)}`],
  [
    'customers, any page',
    5,
    ({ customers }, random) => `/api/customer/list?page=${pageOf(customers, random)}`,
  ],
  [
    'customers, search',
    3,
    ({ customers }, random) =>
      `/api/customer/list?search=${searchOf(fullName(random(customers)), random)}`,
  ],
  [
    'orders of one customer',
    5,
    ({ customers }, random) =>
      `/api/customer/order-list/?customer_id=c${random(Math.floor(customers / 2))}`,
  ],
  [
    'products, any page',
    5,
    ({ products }, random) => `/api/product/list?page=${pageOf(products, random)}`,
  ],
  [
    'product details',
    5,
    ({ products }, random) => `/api/product/details/?product_id=p${random(products)}`,
  ],
  ['reviews by rating', 5, (_, random) => `/api/review/list?rating=${1 + random(5)}`],
  ['menu', 2, () => '/api/menu/'],
];

/** A status, and a window of one to thirty days in the store's history. */
function statusAndDate({ orders }: StoreSize, random: Random): string {
  const from = Date.parse(instantAt(random(orders)));
  const to = from + (1 + random(30)) * 86_400_000;
  const [begin, end] = [from, to].map((time) => new Date(time).toISOString().slice(0, 19));
  return `/api/order/list?status=${ORDER_STATUSES[random(ORDER_STATUSES.length)]}&created_from=${begin}&created_to=${end}`;
}

/** A name, or a part of it. */
function searchOf(name: string, random: Random): string {
  const words = name.split(' ');
  const word = words[random(words.length)] ?? name;
  return encodeURIComponent(word.length < 4 ? name : word.slice(0, 4 + random(word.length)));
}

/** The rows of a run: each kind alone, polls, and a mix during writes. */
export function mixedRows(stores: readonly StoreSize[]): MixedRow[] {
  const rows = KINDS.map(([name, , pathOf], index) => {
    const random = generator(index + 1);
    const requests = times(() => requestOf(stores, pathOf, random));
    return { name, requests, isPoll: false, isWritten: false };
  });
  const random = generator(100);
  const polled = times(() => requestOf(stores, () => '/api/order/list', random));
  const mixed = times(() => requestOf(stores, kindAt(random(100)), random));
  return [
    ...rows,
    { name: 'orders, poll', requests: polled, isPoll: true, isWritten: false },
    { name: 'mixed', requests: mixed, isPoll: false, isWritten: true },
  ];
}

function kindAt(percent: number): PathOf {
  let rest = percent;
  const [, , pathOf] = KINDS.find(([, share]) => (rest -= share) < 0) ??
    KINDS[0] ?? ['', 0, () => ''];
  return pathOf;
}

/** The largest store, the medium stores and the small stores each get a third of the requests. */
function requestOf(stores: readonly StoreSize[], pathOf: PathOf, random: Random): MixedRequest {
  const [from, count] = (
    [
      [0, 1],
      [1, 4],
      [5, 15],
    ] as const
  )[random(3)] ?? [0, 1];
  const store = stores[from + random(count)];
  if (store === undefined) throw new Error('there are twenty stores');
  return { storeId: store.storeId, path: pathOf(store, random) };
}

function times<T>(make: () => T): T[] {
  return Array.from({ length: REQUESTS }, make);
}

/** Pseudorandom numbers (mulberry32). */
function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}
