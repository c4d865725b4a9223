/** What a user of the generated client writes: every answer is typed, and each error has its codes. */
import { issueToken, listOrders } from './client/index.ts';

const orders = await listOrders({ query: { status: ['pending', 'ready'], page_size: 100 } });
export const totals: string[] | undefined = orders.data?.results.map(({ total }) => total);

type OrdersError = NonNullable<typeof orders.error>;
export const code: OrdersError['code'] = 'insufficient_scope';
// @ts-expect-error no answer of a data endpoint has this code
export const wrong: OrdersError['code'] = 'invalid_client';

const token = await issueToken({ body: { grant_type: 'client_credentials' } });
export const bearer: string | undefined = token.data?.access_token;
