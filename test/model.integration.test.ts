import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hashSecret } from '#shared/access/secrets.ts';
import { readConfig } from '#shared/config.ts';
import { CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { createLogger } from '#shared/logging.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { type Envelope, type ListQuery, Model } from '#test/model.ts';
import { startApp } from '#test/query-service.ts';
import { caughtUp } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { stream, type StreamEvent, STREAM_STORES } from '#test/streams.ts';
import { startProjector } from '#projector/projector.ts';

const logger = createLogger('test', 'silent');
/** Each run has an environment of its own; within it many questions are asked. */
const RUNS = 5;
const QUESTIONS = 150;

/** Absent in `absences` of ten cases. */
function maybe<T>(arbitrary: fc.Arbitrary<T>, absences: number): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: absences, arbitrary: fc.constant(undefined) },
    { weight: 10 - absences, arbitrary },
  );
}

/** Around the seconds of the stream, in the offsets that its stores can have. */
const local = fc
  .record({
    day: fc.integer({ min: 1, max: 4 }),
    time: fc.constantFrom('23:59', '23:59', '23:59', '22:59', '00:59', '08:29'),
    second: fc.integer({ min: 56, max: 59 }),
  })
  .map(({ day, time, second }) => `2026-03-0${day}T${time}:${second}`);
const range = fc
  .tuple(maybe(local, 3), maybe(local, 3))
  .map(([a, b]) => (a !== undefined && b !== undefined && a > b ? [b, a] : [a, b]));
const ranges = fc.tuple(maybe(range, 5), maybe(range, 8)).map(([created, updated]) => ({
  created_from: created?.[0],
  created_to: created?.[1],
  updated_from: updated?.[0],
  updated_to: updated?.[1],
}));
const paging = {
  page: maybe(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 12 })), 6),
  page_size: maybe(fc.constantFrom(1, 2, 3, 7, 100, 101), 4),
};
const some = (values: readonly string[]) =>
  maybe(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 4 }), 7);

const terms = [
  'jose',
  'JOSÉ',
  'ana',
  'a',
  ' silva ',
  '.*',
  '(2)',
  "o'n",
  '987',
  '(11) 9',
  '9-09',
  '12abc',
  '12.ABC',
  'x1',
  '𝒜',
  'ﬁ',
  'e',
];
const customerQuery = fc
  .tuple(fc.record({ ...paging, search: maybe(fc.constantFrom(...terms), 4) }), ranges)
  .map(([query, bounds]): ListQuery => defined({ ...query, ...bounds }));
const orderQuery = fc
  .tuple(fc.record({ ...paging, status: some(ORDER_STATUSES), order_type: some(ORDER_TYPES) }), ranges)
  .map(([query, bounds]): ListQuery => defined({ ...query, ...bounds }));
const customerOrderQuery = fc
  .tuple(orderQuery, maybe(fc.constantFrom('c1', 'c2', 'C_4', 'nobody'), 6))
  .map(([query, customer]): ListQuery => defined({ ...query, customer_id: customer }));

type Question = { path: ListPath; query: ListQuery; storeId: string };

/** Every list, with what it can be asked and what the model answers. */
const lists = {
  '/api/customer/list': [customerQuery, (model, store, query) => model.customers(store, query)],
  '/api/order/list': [orderQuery, (model, store, query) => model.orders(store, query, 'anyone')],
  '/api/customer/order-list/': [
    customerOrderQuery,
    (model, store, query) => model.orders(store, query, 'a customer'),
  ],
  '/api/coupon/list': [
    fc.record({ ...paging, active: maybe(fc.boolean(), 5) }),
    (model, store, query) => model.coupons(store, query),
  ],
  '/api/review/list': [
    fc
      .tuple(
        fc.record({
          ...paging,
          rating: maybe(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), 5),
        }),
        ranges,
      )
      .map(([query, { created_from, created_to }]) => ({ ...query, created_from, created_to })),
    (model, store, query) => model.reviews(store, query),
  ],
  '/api/campaign/list': [
    fc.record({ ...paging, status: some(CAMPAIGN_STATUSES) }),
    (model, store, query) => model.campaigns(store, query),
  ],
  '/api/category/list': [fc.record(paging), (model, store, query) => model.categories(store, query)],
  '/api/product/list': [
    fc
      .tuple(
        fc.record({ ...paging, category_id: maybe(fc.constantFrom('k1', 'k2', 'nowhere', 'k9'), 6) }),
        ranges,
      )
      .map(([query, { updated_from, updated_to }]) => ({ ...query, updated_from, updated_to })),
    (model, store, query) => model.products(store, query),
  ],
  '/api/option-group/list': [fc.record(paging), (model, store, query) => model.optionGroups(store, query)],
} satisfies Record<
  string,
  [fc.Arbitrary<ListQuery>, (model: Model, store: string, query: ListQuery) => Envelope]
>;
type ListPath = keyof typeof lists;

const question: fc.Arbitrary<Question> = fc
  .constantFrom(...(Object.keys(lists) as ListPath[]))
  .chain((path) =>
    fc.record({
      path: fc.constant(path),
      query: lists[path][0].map(defined),
      storeId: fc.constantFrom(...STREAM_STORES),
    }),
  );

/** Every details endpoint, the ids that streams hold, and what the model answers. */
const records: [path: string, ids: string[], answer: (model: Model, store: string, id: string) => unknown][] =
  [
    ['/api/order/details/?order_id=', numbered('o', 12), (model, store, id) => model.order(store, id)],
    ['/api/coupon/details/?coupon_id=', numbered('n', 3), (model, store, id) => model.coupon(store, id)],
    ['/api/review/details/?review_id=', numbered('r', 5), (model, store, id) => model.review(store, id)],
    [
      '/api/campaign/details/?campaign_id=',
      numbered('m', 3),
      (model, store, id) => model.campaign(store, id),
    ],
    [
      '/api/category/details/?category_id=',
      numbered('k', 4),
      (model, store, id) => model.category(store, id),
    ],
    ['/api/product/details/?product_id=', numbered('p', 10), (model, store, id) => model.product(store, id)],
  ];

function numbered(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

function defined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}

function target({ path, query }: Question): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

describe('every answer', () => {
  let installation: Installation;
  let restoreTrees: () => void;
  beforeAll(async () => {
    restoreTrees = withSmallTrees(3, 3);
    // A machine that runs many tests may be slow, which is none of the model's business.
    installation = await createInstallation({
      environments: RUNS,
      settings: { MONGODB_READ_TIMEOUT_MS: '20000', REDIS_COMMAND_TIMEOUT_MS: '5000' },
    });
  });
  afterAll(async () => {
    restoreTrees();
    await installation?.close();
  });

  it(
    'is what a plain model of the contract answers, for random streams and questions',
    { timeout: 240_000 },
    async () => {
      let run = 0;
      let found = 0;
      const outcome = await fc.check(
        fc.asyncProperty(
          stream,
          fc.array(question, { minLength: QUESTIONS, maxLength: QUESTIONS }),
          async (events, questions) => {
            const environment = installation.config.environments[run];
            run += 1;
            if (environment !== undefined) found += await compare(environment, events, questions);
          },
        ),
        { numRuns: RUNS, endOnFailure: true },
      );
      if (outcome.failed) {
        const { seed, counterexamplePath, errorInstance } = outcome;
        throw new Error(`differs with seed ${seed}, path ${counterexamplePath}`, { cause: errorInstance });
      }
      // Questions that find nothing compare nothing.
      expect(found).toBeGreaterThan((RUNS * QUESTIONS) / 3);
    },
  );

  /** Answers how many of the questions found something. */
  async function compare(environment: string, events: StreamEvent[], questions: Question[]): Promise<number> {
    const config = readConfig({ ...installation.env, ENVIRONMENTS: environment });
    const model = new Model();
    for (const event of events) model.apply(event);
    await installation.publishAccess(
      STREAM_STORES.map((store) => ({
        entity: 'access_key',
        storeId: store,
        subject: `${environment}-${store}`,
        sequence: 1,
        data: {
          secret_sha256: hashSecret('secret'),
          scopes: ['store', 'crm', 'order', 'menu'],
          status: 'active',
        },
      })),
      environment,
    );
    await installation.publish(events, environment);
    const projector = await startProjector(config, logger);
    const { app, api } = await startApp(config);
    try {
      await caughtUp(installation, environment);
      const tokens = new Map<string, string>();
      for (const store of STREAM_STORES) {
        await eventually(`there is a token for ${store}`, async () => {
          const { status, json } = await api.askToken(`${environment}-${store}`, 'secret');
          if (status === 200) tokens.set(store, (json as { access_token: string }).access_token);
          return status === 200;
        });
      }
      const get = (store: string, path: string) => api.get(path, tokens.get(store) ?? '');

      let found = 0;
      for (const asked of questions) {
        const url = target(asked);
        const response = await get(asked.storeId, url);
        const expected = lists[asked.path][1](model, asked.storeId, asked.query);
        expect([url, response.status, response.json]).toEqual([url, 200, expected]);
        if (expected.results.length > 0) found += 1;
      }
      for (const store of STREAM_STORES) {
        const info = await get(store, '/api/store/info/');
        const expected = model.storeInfo(store);
        expect(info.status).toBe(expected === null ? 404 : 200);
        if (expected !== null) expect(info.json).toEqual(expected);
        const menu = await get(store, '/api/menu/');
        expect([menu.status, menu.json]).toEqual([200, model.menu(store)]);
        for (const [path, ids, answer] of records) {
          for (const id of ids) {
            const record = await get(store, `${path}${id}`);
            const known = answer(model, store, id);
            expect([path, id, record.status]).toEqual([path, id, known === null ? 404 : 200]);
            if (known !== null) expect(record.json).toEqual(known);
          }
        }
      }
      return found;
    } finally {
      await app.close();
      await projector.stop();
    }
  }
});
