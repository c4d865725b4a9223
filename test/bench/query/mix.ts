/**
 * Random requests of integrations to stores of very different size, for pages, filters and records.
 * Seeded, so that runs are equal.
 */
import { Random } from '../../../deploy/testing/random.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { times } from '#test/times.ts';
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

type PathOf = (store: StoreSize, random: Random) => string;

const pageOf = (records: number, random: Random) =>
  1 + random.below(Math.ceil(records / PAGE_SIZE));

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
  [
    'order details',
    20,
    ({ orders }, random) => `/api/order/details/?order_id=o${random.below(orders)}`,
  ],
  [
    'customers, any page',
    5,
    ({ customers }, random) => `/api/customer/list?page=${pageOf(customers, random)}`,
  ],
  [
    'customers, search',
    3,
    ({ customers }, random) =>
      `/api/customer/list?search=${searchOf(fullName(random.below(customers)), random)}`,
  ],
  [
    'orders of one customer',
    5,
    ({ customers }, random) =>
      `/api/customer/order-list/?customer_id=c${random.below(Math.floor(customers / 2))}`,
  ],
  [
    'products, any page',
    5,
    ({ products }, random) => `/api/product/list?page=${pageOf(products, random)}`,
  ],
  [
    'product details',
    5,
    ({ products }, random) => `/api/product/details/?product_id=p${random.below(products)}`,
  ],
  ['reviews by rating', 5, (_, random) => `/api/review/list?rating=${1 + random.below(5)}`],
  ['menu', 2, () => '/api/menu/'],
];

/** A status, and a window of one to thirty days in the store's history. */
function statusAndDate({ orders }: StoreSize, random: Random): string {
  const from = Date.parse(instantAt(random.below(orders)));
  const to = from + (1 + random.below(30)) * 86_400_000;
  const [begin, end] = [from, to].map((time) => new Date(time).toISOString().slice(0, 19));
  return `/api/order/list?status=${random.pick(ORDER_STATUSES)}&created_from=${begin}&created_to=${end}`;
}

/** A name, or a part of it. */
function searchOf(name: string, random: Random): string {
  const word = random.pick(name.split(' '));
  return encodeURIComponent(word.length < 4 ? name : word.slice(0, 4 + random.below(word.length)));
}

/** The rows of a run: each kind alone, polls, and a mix during writes. */
export function mixedRows(stores: readonly StoreSize[]): MixedRow[] {
  // The largest store, the medium stores and the small stores each get a third of the requests.
  const thirds = [stores.slice(0, 1), stores.slice(1, 5), stores.slice(5)];
  const row = (
    name: string,
    seed: number,
    paths: readonly PathOf[],
    kind: Partial<MixedRow> = {},
  ) => {
    const random = new Random(seed);
    const requests = times(REQUESTS, () => {
      const store = random.pick(random.pick(thirds));
      return { storeId: store.storeId, path: random.pick(paths)(store, random) };
    });
    return { name, requests, isPoll: false, isWritten: false, ...kind };
  };
  const mix = KINDS.flatMap(([, percent, pathOf]) => times(percent, () => pathOf));
  return [
    ...KINDS.map(([name, , pathOf], index) => row(name, index + 1, [pathOf])),
    row('orders, poll', 100, [() => '/api/order/list'], { isPoll: true }),
    row('mixed', 101, mix, { isWritten: true }),
  ];
}
