/**
 * What a user of the generated client writes: every answer is typed, and each error has its codes.
 */
import { client } from './client/client.gen.ts';
import { issueToken, listOrders } from './client/index.ts';

const { BASE_URL = 'https://api.example.com', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;
// Basic credentials for the token endpoint, the token for all others.
const credentials = `${CLIENT_ID}:${CLIENT_SECRET}`;
client.setConfig({ baseUrl: BASE_URL, auth: credentials });
const token = await issueToken({ body: { grant_type: 'client_credentials' }, throwOnError: true });
client.setConfig({ auth: token.data.access_token });

const orders = await listOrders({ query: { status: ['pending', 'ready'], page_size: 100 } });
export const totals: string[] | undefined = orders.data?.results.map(({ total }) => total);

type OrdersError = NonNullable<typeof orders.error>;
export const code: OrdersError['code'] = 'insufficient_scope';
// @ts-expect-error no answer of a data endpoint has this code
export const wrong: OrdersError['code'] = 'invalid_client';

process.stdout.write(`${orders.data?.count} orders: ${totals?.join(', ')}\n`);
