/** What is compared at scale, and what each comparison shall come to. */
import { ask, type BenchRequest } from '../requests.ts';
import { document } from '../stores/record.ts';
import { CHANGED, MONTH, type ScaleStore, SHALLOW, YEAR } from './stores.ts';

/** At least so many times as fast, or at most so many times as slow, as what it is compared with. */
export type Target = { atLeast: number } | { atMost: number };

export interface Row {
  name: string;
  /** What our side is asked. */
  request: BenchRequest;
  against: Against;
  /** Latency of one connection, or requests a second of many. */
  figure: 'latency' | 'throughput';
  target: Target | null;
  /** Our 95th percentile shall stay below, in milliseconds. */
  p95Ms: number | null;
}

/** The same request asked of the usual way, or another one asked of ourselves. */
export type Against =
  { name: string; side: 'usual way' } | { name: string; side: 'ours'; request: BenchRequest };

/** The page in the middle of what a path lists. */
export type MiddleOf = (storeId: string, path: string) => Promise<string>;

const ORDERS = '/api/order/list';
const CUSTOMERS = '/api/customer/list';
const FILTERED = `${ORDERS}?status=concluded&status=cancelled&order_type=delivery&${YEAR}`;
const SURNAME = 'goncalves';
const USUAL_WAY: Against = { name: 'usual way', side: 'usual way' };

/** The rows of a run. @param stores the deepest first. @param neighbours those that ask beside them. */
export async function scaleRows(
  stores: readonly [ScaleStore, ...ScaleStore[]],
  neighbours: readonly ScaleStore[],
  middleOf: MiddleOf,
): Promise<Row[]> {
  const [deep] = stores;
  return [
    ...(deep.orders > 0 ? await orderRows(stores, neighbours, middleOf) : []),
    ...(deep.customers > 0 ? await customerRows(stores, middleOf) : []),
  ];
}

async function orderRows(
  [deep, ...others]: readonly [ScaleStore, ...ScaleStore[]],
  neighbours: readonly ScaleStore[],
  middleOf: MiddleOf,
) {
  const { storeId } = deep;
  const at = async (name: string, path: string, target: Target | null = null) =>
    row(name, ask(name, await middleOf(storeId, path), storeId), USUAL_WAY, target);
  const first = ask('order list, first page', ORDERS, storeId);
  const changed = ask('order list, 20 updated in five minutes', `${ORDERS}?${CHANGED}`, storeId);
  const firstOfMany = {
    ...first,
    name: `${first.name}, 20 connections`,
    neighbours: neighbours.map((neighbour) => neighbour.storeId),
    uncounted: true,
  };
  return [
    await at('order list, middle', ORDERS, { atLeast: 100 }),
    await at('order list, two statuses, a type, a year, middle', FILTERED, { atLeast: 30 }),
    row(first.name, first, USUAL_WAY, { atLeast: 50 }),
    row(changed.name, changed, { name: 'our first page', side: 'ours', request: first }, { atMost: 2 }),
    row(changed.name, changed, USUAL_WAY, null),
    ...(await growthRows('order list, middle', ORDERS, [deep, ...others], middleOf)),
    await at('customer order list, middle', '/api/customer/order-list/'),
    await at('review list, rating 1 and 2, middle', '/api/review/list?rating=1&rating=2'),
    {
      ...row(
        firstOfMany.name,
        firstOfMany,
        { ...USUAL_WAY, name: 'usual way without the count' },
        { atLeast: 1.5 },
      ),
      figure: 'throughput' as const,
    },
  ];
}

async function customerRows(stores: readonly [ScaleStore, ...ScaleStore[]], middleOf: MiddleOf) {
  const [{ storeId, customers }] = stores;
  const middle = Math.floor(customers / 2);
  const digits = document(middle).replaceAll(/\D/g, '').slice(3, 9);
  const at = async (name: string, path: string, target: Target | null = null) =>
    row(name, ask(name, await middleOf(storeId, path), storeId), USUAL_WAY, target);
  const search = (name: string, text: string) => ({
    ...row(name, ask(name, `${CUSTOMERS}?search=${text}`, storeId), USUAL_WAY, { atLeast: 3 }),
    p95Ms: 150,
  });
  return [
    await at('customer list, middle', CUSTOMERS, { atLeast: 50 }),
    ...(await growthRows('customer list, middle', CUSTOMERS, stores, middleOf)),
    await at('customer list, created in a month, middle', `${CUSTOMERS}?${MONTH}`),
    search('customer list, search for a surname', SURNAME),
    await at('customer list, search for a surname, middle', `${CUSTOMERS}?search=${SURNAME}`),
    search('customer list, search for six digits', digits),
  ];
}

/** Our own cost at this depth against that of stores that are not as deep. */
async function growthRows(
  name: string,
  path: string,
  [deep, ...others]: readonly [ScaleStore, ...ScaleStore[]],
  middleOf: MiddleOf,
): Promise<Row[]> {
  const request = ask(name, await middleOf(deep.storeId, path), deep.storeId);
  return Promise.all(
    others.map(async (other) => {
      const records = Math.max(other.orders, other.customers);
      const against = { name: `ours, ${records.toLocaleString('en-US')} records`, side: 'ours' as const };
      const smaller = ask(`${name}, ${records}`, await middleOf(other.storeId, path), other.storeId);
      return row(
        name,
        request,
        { ...against, request: smaller },
        { atMost: records === SHALLOW ? 1.5 : 1.3 },
      );
    }),
  );
}

function row(name: string, request: BenchRequest, against: Against, target: Target | null): Row {
  return { name, request, against, figure: 'latency', target, p95Ms: null };
}
