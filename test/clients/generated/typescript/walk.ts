/** Walks through the API with the client that hey-api makes, and prints facts as JSON. */
import { client } from './client/client.gen.ts';
import {
  followChanges,
  followOrders,
  getCoupon,
  getMenu,
  getOrder,
  issueToken,
  listOrders,
} from './client/sdk.gen.ts';

const { BASE_URL = '', CLIENT_ID, CLIENT_SECRET, CREATED_FROM = '', CREATED_TO = '' } = process.env;
client.setConfig({ baseUrl: BASE_URL, throwOnError: true });
client.setConfig({
  auth: ({ scheme }) => (scheme === 'basic' ? `${CLIENT_ID}:${CLIENT_SECRET}` : undefined),
});
const { data: token } = await issueToken({
  body: { grant_type: 'client_credentials' },
  throwOnError: true,
});
client.setConfig({ auth: token.access_token });

const throwOnError = true;
const query = { created_from: CREATED_FROM, created_to: CREATED_TO };
const { data: orders } = await listOrders({ query, throwOnError });
const { data: order } = await getOrder({ query: { order_id: 'o1' }, throwOnError });
const { data: coupon } = await getCoupon({ query: { coupon_id: 'c1' }, throwOnError });
const { data: menu } = await getMenu({ throwOnError });
const { data: changes } = await followChanges({ throwOnError });
const whole = await followOrders({
  query: { records: 'whole', page_size: 1_000, wait: 1 },
  throwOnError,
});
const record = whole.data.results.find(({ id }) => id === 'o1')?.record;
const facts = {
  orders: orders.count,
  notes: order.notes,
  usage_limit: String(coupon.usage_limit),
  usage_count: String(coupon.usage_count),
  categories: menu.categories.length,
  changes: changes.results.length,
  whole: record !== null && record !== undefined && 'notes' in record ? record.notes : null,
};
process.stdout.write(`${JSON.stringify(facts)}\n`);
