/** The requests that are measured, every data endpoint and what integrations ask of it most; both sides must answer them alike. */
import assert from 'node:assert/strict';
import type { Side } from '../in-turn.ts';
import type { RunningService } from '../service.ts';
import type { Sides } from './setup.ts';
import { instantAt } from './stores/record.ts';
import { LARGE_MENU_STORE, RECORDS_STORE, SMALL_MENU_STORE } from './stores/stores.ts';

export interface BenchRequest {
  name: string;
  storeId: string;
  path: string;
  /** Paths of other records of the same kind: not everybody asks for the same. */
  others: readonly string[];
  /** Stores that ask for the same: not everybody asks at the same store. */
  neighbours: readonly string[];
  /** A poll brings the entity tag of the answer before, and is answered 304. */
  poll: boolean;
  /** The usual way is asked for the page alone, without its count. */
  uncounted: boolean;
}

/** A request that is answered in full. */
export function ask(name: string, path: string, storeId = RECORDS_STORE): BenchRequest {
  return { name, path, storeId, others: [], neighbours: [], poll: false, uncounted: false };
}

function poll(name: string, path: string, storeId = RECORDS_STORE): BenchRequest {
  return { ...ask(name, path, storeId), poll: true };
}

/** One record of many: neighbours of the one that is compared are asked for in turn. */
function askEach(name: string, pathOf: (index: number) => string, middle: number): BenchRequest {
  const others = Array.from({ length: NEIGHBOURS }, (_, distance) => pathOf(middle - distance - 1));
  return { ...ask(name, pathOf(middle)), others };
}

/** The middle of the store's records: neither the first nor the last of any index. */
function ids(records: number) {
  const middle = Math.floor(records / 2);
  return { middle, from: instantAt(middle).slice(0, 19), to: instantAt(middle + 100).slice(0, 19) };
}

/** Of a record that is asked for. */
const NEIGHBOURS = 96;

export function benchRequests(records: number): BenchRequest[] {
  const { middle, from, to } = ids(records);
  const deep = Math.max(1, Math.floor(middle / 20));
  return [
    ask('store info', '/api/store/info/'),
    ask('coupon list', '/api/coupon/list'),
    ask('coupon list, active', '/api/coupon/list?active=true'),
    askEach('coupon details', (index) => `/api/coupon/details/?coupon_id=n${index}`, middle),
    ask('customer list', '/api/customer/list'),
    ask('customer list, search', '/api/customer/list?search=jose'),
    ask('customer list, created in 20 h', `/api/customer/list?created_from=${from}&created_to=${to}`),
    ask('review list', '/api/review/list'),
    ask('review list, rating 1 and 2', '/api/review/list?rating=1&rating=2'),
    askEach('review details', (index) => `/api/review/details/?review_id=r${index}`, middle),
    ask('campaign list', '/api/campaign/list'),
    askEach('campaign details', (index) => `/api/campaign/details/?campaign_id=m${index}`, middle),
    ask('order list', '/api/order/list'),
    ask('order list, 100 a page', '/api/order/list?page_size=100'),
    ask('order list, half-way', `/api/order/list?page=${deep}`),
    ask('order list, open deliveries', '/api/order/list?status=pending&status=preparing&order_type=delivery'),
    ask('order list, created in 20 h', `/api/order/list?created_from=${from}&created_to=${to}`),
    askEach('order details', (index) => `/api/order/details/?order_id=o${index}`, middle),
    ask('customer order list', '/api/customer/order-list/'),
    ask('customer order list, of one', '/api/customer/order-list/?customer_id=c13'),
    ask('menu, 200 products', '/api/menu/', SMALL_MENU_STORE),
    ask('menu, 2,000 products', '/api/menu/', LARGE_MENU_STORE),
    ask('category list', '/api/category/list'),
    ask('category details', '/api/category/details/?category_id=k7'),
    ask('product list', '/api/product/list'),
    ask('product list, of a category', '/api/product/list?category_id=k7'),
    askEach('product details', (index) => `/api/product/details/?product_id=p${index}`, middle),
    ask('option group list', '/api/option-group/list'),
    poll('order list, poll', '/api/order/list'),
    poll('order details, poll', `/api/order/details/?order_id=o${middle}`),
    poll('menu, 200 products, poll', '/api/menu/', SMALL_MENU_STORE),
  ];
}

/** What the load generator sends to each side. */
export interface Prepared {
  request: BenchRequest;
  bodyBytes: number;
  ours: Side;
  usualWay: Side;
}

/** @throws when the answers differ, or a poll is not answered 304. */
export async function prepare(
  request: BenchRequest,
  sides: Sides,
  tokens: ReadonlyMap<string, string>,
): Promise<Prepared> {
  const { name, path, others, neighbours, storeId, poll } = request;
  const tokenOf = (store: string) => ({ authorization: `Bearer ${tokens.get(store) ?? ''}` });
  const { authorization } = tokenOf(storeId);
  const ask = async ({ url: origin, pid }: Pick<RunningService, 'url' | 'pid'>, asked = path) => {
    const url = `${origin}${asked}`;
    const response = await fetch(url, { headers: { authorization, 'accept-encoding': 'identity' } });
    const text = await response.text();
    assert.equal(response.status, 200, `${name}: ${url} answered ${response.status} ${text.slice(0, 300)}`);
    const headers = poll
      ? { authorization, 'if-none-match': response.headers.get('etag') ?? '' }
      : { authorization };
    if (poll) assert.equal((await fetch(url, { headers })).status, 304, `${name}: ${url} is no 304`);
    const paths = others.length === 0 ? {} : { paths: [path, ...others] };
    const each = neighbours.length === 0 ? {} : { each: [storeId, ...neighbours].map(tokenOf) };
    return { text, side: { pid, url, headers, ...paths, ...each, status: poll ? 304 : 200 } };
  };
  const ours = await ask(sides.ours);
  const usualWay = await ask(sides.usualWay, request.uncounted ? uncounted(path) : path);
  assertSubstance(name, ours.text);
  const [left, right] = [ours.text, usualWay.text].map((text) => {
    const { count, ...rest } = JSON.parse(text) as { count?: unknown };
    return request.uncounted ? rest : { count, ...rest };
  });
  assert.deepEqual(left, right, `${name}: the answers differ`);
  return { request, bodyBytes: Buffer.byteLength(ours.text), ours: ours.side, usualWay: usualWay.side };
}

/** The path that tells the usual way to leave the count out. */
function uncounted(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}uncounted=true`;
}

/** An empty page would be quick on both sides, and say nothing. */
function assertSubstance(name: string, text: string): void {
  const { results, categories } = JSON.parse(text) as { results?: unknown[]; categories?: unknown[] };
  assert.notEqual((results ?? categories)?.length, 0, `${name}: the answer is empty`);
}
