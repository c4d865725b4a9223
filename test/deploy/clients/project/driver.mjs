// Takes steps from the first argument, makes them with the installed client, and prints what each
// gave.
import process from 'node:process';
import { inspect } from 'node:util';
import { createClient, toInstant } from 'store-data-client';

const { client, steps } = JSON.parse(process.argv[2]);
const retries = [];
let quiet = () => undefined;
const options = {
  baseUrl: client.url,
  clientId: client.id,
  clientSecret: client.secret,
  timeoutMs: (client.timeout ?? 10) * 1_000,
  retries: client.retries ?? 5,
  onRetry: ({ error, attempt, pauseMs }) => {
    retries.push([error.name, attempt, pauseMs / 1_000]);
    quiet();
  },
};
if (client.scopes !== undefined) options.scopes = client.scopes;
const store = createClient(options);

const STEPS = {
  get: async ({ id }) => (await store.orders.get(id)).id,
  many: async ({ n }) =>
    (await Promise.all(Array.from({ length: n }, () => store.orders.get('o1')))).length,
  list: async ({ filters }) => {
    const ids = [];
    for await (const { id } of store.orders.list(filters)) ids.push(id);
    return ids;
  },
  pages: async ({ filters }) => {
    const pages = [];
    for await (const { count, results } of store.orders.pages(filters))
      pages.push([count, results.length]);
    return pages;
  },
  everything: async () => {
    const found = {};
    for (const [name, resource] of Object.entries(store)) {
      if (typeof resource === 'object') found[name] = (await resource.page({ page_size: 1 })).count;
    }
    return {
      ...found,
      info: (await store.info()).id,
      menu: (await store.menu()).categories.length,
    };
  },
  conditional: async () => {
    const first = await store.orders.get('o1', { ifNoneMatch: '' });
    const again = await store.orders.get('o1', { ifNoneMatch: first.etag });
    const { etag } = await store.menu({ ifNoneMatch: '' });
    const { unchanged, value } = await store.menu({ ifNoneMatch: etag });
    return [first.unchanged, first.value.id, again.unchanged, again.value, unchanged, value];
  },
  changes: async ({ parameters, batches }) => {
    const taken = [];
    for await (const { results, next, more } of store.changes(parameters)) {
      taken.push({
        ids: results.map(({ kind, id, record }) => `${kind}/${id}/${record?.total ?? ''}`),
        next,
        more,
      });
      if (taken.length === batches) break;
    }
    return taken;
  },
  stop: async () => {
    const control = new AbortController();
    setTimeout(() => control.abort(), 500);
    for await (const _ of store.changes({ after: 'now' }, { signal: control.signal })) continue;
  },
  /** A second call begins when the first one was answered 429. */
  quiet: async () => {
    const second = new Promise((resolve, reject) => {
      quiet = () => store.orders.get('o2').then(resolve, reject);
    });
    return [(await store.orders.get('o1')).id, (await second).id];
  },
  sleep: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  instant: ({ local, offset }) => toInstant(local, offset).toISOString(),
  printed: () =>
    inspect(store, { depth: Infinity, showHidden: true }) + JSON.stringify(store) + String(store),
};

const results = [];
for (const step of steps) {
  try {
    results.push({ value: (await STEPS[step.op](step)) ?? null });
  } catch (error) {
    const { name, status = null, code = null, detail = null, requestId = null } = error;
    const printed = inspect(error, { depth: Infinity, showHidden: true });
    results.push({ error: { name, status, code, detail, requestId, printed } });
  }
}
process.stdout.write(JSON.stringify({ results, retries }));
