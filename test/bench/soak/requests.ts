/** Everything that integrations ask, in a steady mix: pages, records, menus, searches, changes, tokens, and what is refused. */
import { newClientSecret } from '#shared/access/secrets.ts';
import { pause } from '#shared/waiting.ts';
import { type Client, tokenRequest } from './client.ts';

/** What a client knows of its store from the lists that it has read. */
interface Known {
  ids: Map<string, string[]>;
  names: string[];
  etags: Map<string, string>;
}

interface Asking {
  client: Client;
  known: Known;
}

const TICK_MS = 50;
/** Kinds of records that have a list and a details endpoint. */
const DETAILED = ['order', 'review', 'coupon', 'campaign', 'category', 'product'] as const;
const LISTS = [
  ...DETAILED.map((kind) => `/api/${kind}/list?page_size=20`),
  '/api/customer/list?page_size=20',
  '/api/option-group/list?page_size=20',
  '/api/customer/order-list/?page_size=20',
  '/api/order/list?page_size=20&status=delivered&status=concluded',
  '/api/order/list?page_size=20&order_type=delivery&created_from=2026-01-01T00:00:00',
  '/api/review/list?page_size=20&rating=5',
];
const FEEDS = ['order', 'customer', 'product', 'review', 'campaign', 'coupon', 'category', 'option-group'];

/** How often each is asked, of all requests. */
const MIX: { weight: number; ask: (asking: Asking) => Promise<unknown> }[] = [
  { weight: 26, ask: (asking) => readList(asking, 'list', pick(LISTS)) },
  { weight: 6, ask: (asking) => readList(asking, 'deep list', `${pick(LISTS)}&page=${3 + choice(8)}`) },
  { weight: 20, ask: readDetails },
  { weight: 8, ask: ({ client }) => client.get({ kind: 'menu', path: '/api/menu/', expected: [200] }) },
  {
    weight: 6,
    ask: ({ client }) => client.get({ kind: 'store', path: '/api/store/info/', expected: [200] }),
  },
  { weight: 8, ask: search },
  {
    weight: 9,
    ask: ({ client }) =>
      client.get({ kind: 'changes', path: `/api/${pick(FEEDS)}/changes?page_size=20`, expected: [200] }),
  },
  { weight: 8, ask: readAgain },
  { weight: 3, ask: ({ client }) => client.newToken() },
  {
    weight: 2,
    ask: ({ client }) => client.send(tokenRequest({ ...client.key, secret: newClientSecret() }, 'wrong secret', [401])),
  },
  {
    weight: 2,
    ask: ({ client }) =>
      client.send({
        kind: 'wrong token',
        path: '/api/order/list',
        headers: { authorization: `Bearer ${newClientSecret()}` },
        expected: [401],
      }),
  },
  {
    weight: 1,
    ask: ({ client }) => client.get({ kind: 'wrong parameter', path: '/api/order/list?pagesize=3', expected: [422] }),
  },
  { weight: 1, ask: ({ client }) => client.send({ kind: 'health', path: '/health', expected: [200] }) },
];
const WEIGHTS = MIX.flatMap(({ weight, ask }) => Array.from({ length: weight }, () => ask));

/** Asks at the rate until the signal is aborted; then the last answers are waited for. */
export async function askSteadily(clients: readonly Client[], perSecond: number, over: AbortSignal): Promise<void> {
  const asking = clients.map((client): Asking => {
    return { client, known: { ids: new Map(), names: [], etags: new Map() } };
  });
  const under = new Set<Promise<unknown>>();
  const began = performance.now();
  let sent = 0;
  do {
    const due = ((performance.now() - began) * perSecond) / 1_000;
    for (; sent < due; sent += 1) {
      const one = pick(WEIGHTS)(pick(asking));
      under.add(one);
      void one.finally(() => under.delete(one));
    }
  } while (await pause(TICK_MS, over));
  await Promise.all(under);
}

async function readList({ client, known }: Asking, kind: string, path: string): Promise<void> {
  const answer = await client.get({ kind, path, expected: [200] });
  if (answer === null) return;
  const { results } = answer.body as { results: { id: string; name?: string }[] };
  if (answer.etag !== null) known.etags.set(path, answer.etag);
  const [, , of = ''] = path.split('/');
  if (results.length === 0 || path.includes('order-list')) return;
  known.ids.set(
    of,
    results.map(({ id }) => id),
  );
  if (of === 'customer') known.names = results.flatMap(({ name = '' }) => (name.trim() === '' ? [] : name));
}

async function readDetails(asking: Asking): Promise<void> {
  const of = pick(DETAILED);
  const ids = asking.known.ids.get(of);
  if (ids === undefined) return readList(asking, 'list', `/api/${of}/list?page_size=20`);
  // It may have been deleted since.
  const path = `/api/${of}/details/?${of}_id=${pick(ids)}`;
  await asking.client.get({ kind: 'details', path, expected: [200, 404] });
}

async function search(asking: Asking): Promise<void> {
  const { client, known } = asking;
  if (known.names.length === 0) return readList(asking, 'list', '/api/customer/list?page_size=20');
  const part = pick(known.names)
    .slice(0, 3 + choice(5))
    .toWellFormed();
  const path = `/api/customer/list?search=${encodeURIComponent(part)}`;
  await client.get({ kind: 'search', path, expected: [200] });
}

/** Asks for a list that is known, and whether it has changed. */
async function readAgain(asking: Asking): Promise<void> {
  const { client, known } = asking;
  if (known.etags.size === 0) return readList(asking, 'list', LISTS[0] ?? '');
  const [path, etag] = pick([...known.etags]);
  const headers = { 'if-none-match': etag };
  const answer = await client.get({ kind: 'list again', path, headers, expected: [200, 304] });
  if (answer?.etag) known.etags.set(path, answer.etag);
}

function pick<T>(items: readonly T[]): T {
  const item = items[choice(items.length)];
  if (item === undefined) throw new RangeError('nothing to choose from');
  return item;
}

function choice(below: number): number {
  return Math.floor(Math.random() * below);
}
