/**
 * Both clients, packed and installed, against the real service: what they read, and what they do
 * when something goes wrong.
 */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { aCustomer, anOrder, aStore } from '#test/changes.ts';
import { useFolder } from '#test/folder.ts';
import { useQueryService } from '#test/hooks.ts';
import { send } from '#test/http-proxy.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';
import { prepared, settled } from '../../clients/programs.ts';
import { type Fault, FAULTS, type Passed, startFaultyProxy } from './faulty-proxy.ts';
import { installPython, installTypeScript } from './packed.ts';

const { none, frozen, reset, html502, cutBody, otherToken, quotaUsedUp } = FAULTS;
const PROJECT = join(import.meta.dirname, 'project');
const SECRET = 'secretOfTheKey';
/** Timers may end early, and the proxy may see the end of an answer later than its client. */
const TIMER_MS = 100;
/** Of a client that repeats for ever, where a test expects an end. */
const LIMIT_MS = 120_000;

const folder = useFolder();
const project = join(folder, 'project');
const service = useQueryService();
const meagre = useQueryService({ settings: { QUOTA_REQUESTS: '4', QUOTA_WINDOW_SECONDS: '3' } });
const brief = useQueryService({ settings: { TOKEN_LIFETIME_SECONDS: '3' } });

beforeAll(async () => {
  await Promise.all([service, brief].map((one) => giveStore(one, clientOf(one))));
  await installTypeScript(project);
  await cp(PROJECT, project, { recursive: true });
});

/** Clients are unique over all environments. */
const clientOf = ({ installation }: typeof service) =>
  `client${installation.environment.replaceAll(/\W/g, '')}`;

/** A store with three orders and a customer, and its key. @returns the key's client. */
async function giveStore(of: typeof service, id: string): Promise<string> {
  await of.setKey({ clientId: id, storeId: id, secrets: [SECRET] });
  const orders = ['o1', 'o2', 'o3'].map((order) => anOrder(order, {}, id));
  await of.apply([aStore(id), ...orders, aCustomer('c1', {}, id)]);
  return id;
}

interface Outcome {
  value?: unknown;
  error?: { name: string; status: number | null; detail: string; printed: string };
}

interface Settings {
  of?: typeof service;
  /** The faults of requests for data and for tokens, one after the other. */
  data?: Fault[];
  token?: Fault[];
  scopes?: string[];
  timeout?: number;
  retries?: number;
  id?: string;
}

type Steps = { op: string; [argument: string]: unknown }[];

/** A client in a process of its own, by a proxy of its own. */
interface Driven {
  results: Outcome[];
  retries: [name: string, attempt: number, pause: number][];
  data: Passed[];
  tokens: Passed[];
  /** `<method> <status>` of all that passed. */
  statuses: string[];
}
type Drive = (steps: Steps, settings?: Settings) => Promise<Driven>;

function driverOf(file: string, args: string[], env: Record<string, string> = {}): Drive {
  return async (steps, { of = service, data, token, ...others } = {}) => {
    await using proxy = await startFaultyProxy(of.url, data, token);
    const client = { url: proxy.url, id: clientOf(of), secret: SECRET, ...others };
    const given = [...args, JSON.stringify({ client, steps })];
    const printed = await run(file, given, { cwd: project, env, timeout: LIMIT_MS });
    const { passed } = proxy;
    return {
      ...(JSON.parse(printed) as Pick<Driven, 'results' | 'retries'>),
      data: passed.filter(({ method }) => method !== 'POST'),
      tokens: passed.filter(({ method }) => method === 'POST'),
      statuses: passed.map(({ method, status }) => `${method} ${status}`),
    };
  };
}

const LANGUAGES = {
  TypeScript: async () => driverOf(process.execPath, ['driver.mjs']),
  Python: async (context: TestContext, program = 'python3') =>
    driverOf(program, ['driver.py'], (await installPython(context)).env),
};

/** What the only step gave. */
const batchesOf = ([only]: Outcome[]) =>
  (only?.value ?? []) as { ids: string[]; next: string; more: boolean }[];
const GET = { op: 'get', id: 'o1' };
const changes = (parameters: object, batches = 1) => ({ op: 'changes', parameters, batches });

describe.concurrent.each(Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[])(
  'the %s client',
  (language) => {
    const drive = async (context: TestContext, ...[steps, settings]: Parameters<Drive>) =>
      (await LANGUAGES[language](context))(steps, settings);

    it('reads records, lists, pages, and entity tags', async (context) => {
      const page_size = 2;
      const { results } = await drive(context, [
        GET,
        { op: 'list', filters: { page_size } },
        { op: 'pages', filters: { page_size, order_type: ['delivery', 'takeout', 'indoor'] } },
        { op: 'conditional' },
        { op: 'everything' },
        { op: 'instant', local: '2026-11-20T18:15:04', offset: '-03:00' },
      ]);
      expect(results.map(({ value, error }) => error?.printed ?? value)).toEqual([
        'o1',
        expect.toSatisfy((ids: string[]) => ids.toSorted().join(' ') === 'o1 o2 o3'),
        [
          [3, 2],
          [3, 1],
        ],
        [false, 'o1', true, null, true, null],
        expect.objectContaining({ orders: 3, customers: 1, info: clientOf(service), menu: 0 }),
        '2026-11-20T21:15:04.000Z',
      ]);
      expect(Object.keys(results[4]?.value as object)).toHaveLength(11);
    });

    it('has fewer scopes when they are narrowed', async (context) => {
      const { results, statuses } = await drive(context, [GET], { scopes: ['store', 'crm'] });
      const error = { name: 'ApiError', status: 403, code: 'insufficient_scope' };
      expect(results).toMatchObject([{ error }]);
      expect(statuses).toEqual(['POST 200', 'GET 403']);
    });

    it('reports at once what is wrong', async (context) => {
      const steps = [
        { op: 'get', id: 'nothing' },
        { op: 'list', filters: { statsu: ['pending'] } },
        { op: 'list', filters: { status: [] } },
      ];
      const { results, retries, data } = await drive(context, steps);
      const requestId = expect.stringMatching(/^[\w.-]+$/);
      const detail = expect.stringContaining('statsu');
      expect(results).toMatchObject([
        { error: { status: 404, code: 'not_found', requestId } },
        { error: { status: 422, code: 'invalid_parameters', detail } },
        { error: { status: 422, code: 'invalid_parameters' } },
      ]);
      expect(retries).toEqual([]);
      expect(data).toHaveLength(3);
    });

    describe('gets tokens:', () => {
      it('one request for many calls, also if it fails', async (context) => {
        const once = { retries: 0, timeout: 3, token: [frozen] };
        const { results, statuses } = await drive(context, [{ op: 'many', n: 6 }], once);
        expect(results[0]?.error?.name).toMatch(/^Connection/);
        expect(statuses).toEqual(['POST 0']);
      });

      it('a new one before the old one expires', async (context) => {
        const steps = [GET, { op: 'sleep', ms: 1_600 }, GET];
        const { statuses } = await drive(context, steps, { of: brief });
        expect(statuses).toEqual(['POST 200', 'GET 200', 'POST 200', 'GET 200']);
      });

      it('a new one after a 401, once for a call', async (context) => {
        const faults = { data: [otherToken, none, otherToken, otherToken] };
        const { results, retries, statuses } = await drive(context, [GET, GET], faults);
        const error = { status: 401, code: 'invalid_token' };
        expect(results).toMatchObject([{ value: 'o1' }, { error }]);
        expect(retries).toEqual([]);
        const answered = 'GET 401,POST 200,GET 200,GET 401,POST 200,GET 401';
        expect(statuses.join()).toBe(`POST 200,${answered}`);
      });

      it('none with a key that is revoked, and stops at once', async (context) => {
        const id = await giveStore(service, `revoked${language}`);
        const revoke: Fault = async (exchange) => {
          const key = { clientId: id, storeId: id, secrets: [SECRET] };
          await service.setKey({ ...key, status: 'revoked' });
          await none(exchange);
        };
        const faults = { data: [none, revoke] };
        const { results, retries, statuses } = await drive(context, [GET, GET], { id, ...faults });
        const error = { name: 'ApiError', status: 401, code: 'invalid_client' };
        expect(results).toMatchObject([{ value: 'o1' }, { error }]);
        expect(retries).toEqual([]);
        expect(statuses).toEqual(['POST 200', 'GET 200', 'GET 401', 'POST 401']);
      });

      it('one for many calls at once, also after the token endpoint failed', async (context) => {
        const faults = { token: [html502, FAULTS.endedBody] };
        const { results, tokens } = await drive(context, [{ op: 'many', n: 12 }], faults);
        expect(results).toEqual([{ value: 12 }]);
        expect(tokens.map(({ status }) => status)).toEqual([502, 0, 200]);
      });
    });

    describe('repeats', () => {
      it('after `Retry-After` when the quota is used up, and makes no other call before', async (context) => {
        const { results, data } = await drive(context, [{ op: 'quiet' }], { data: [quotaUsedUp] });
        expect(results).toEqual([{ value: ['o1', 'o2'] }]);
        const [refused, ...later] = data;
        expect(later).toHaveLength(2);
        for (const { cameAt } of later) {
          expect(cameAt - (refused?.leftAt ?? 0)).toBeGreaterThanOrEqual(2_000 - TIMER_MS);
        }
      });

      it.for(['html502', 'reset', 'cutBody', 'endedBody', 'frozen'] as const)(
        'after %s, with growing pauses',
        async (fault, context) => {
          const faults = { timeout: 5, data: [FAULTS[fault], FAULTS[fault]] };
          const { results, retries } = await drive(context, [GET], faults);
          expect(results).toEqual([{ value: 'o1' }]);
          const growing = [1, 2].map((seconds) => [
            expect.any(String),
            seconds,
            expect.toSatisfy((pause: number) => pause >= seconds * 0.75 && pause <= seconds * 1.25),
          ]);
          expect(retries).toEqual(growing);
        },
      );

      it.for([
        ['html502', 502, 2],
        // The address is wrong.
        ['html200', 200, 1],
        ['redirected', 302, 1],
      ] as const)(
        'not for ever: after %s it says that %d came, and has made %d requests',
        async ([fault, status, requests], context) => {
          const faults = { retries: 1, data: [FAULTS[fault], FAULTS[fault]] };
          const { results, data } = await drive(context, [GET], faults);
          const error = { name: 'ApiError', status, code: 'unknown' };
          expect(results).toMatchObject([{ error }]);
          expect(data).toHaveLength(requests);
        },
      );
    });

    describe('follows changes', () => {
      it('and asks for the next batch only when the one before was taken', async (context) => {
        const parameters = { kinds: ['order', 'customer'], page_size: 3 };
        const { results, data } = await drive(context, [changes(parameters)]);
        const [first] = batchesOf(results);
        expect(first).toMatchObject({ more: true });
        expect(first?.ids).toHaveLength(3);
        expect(data).toHaveLength(1);

        // From what was stored, also in another process.
        const stored = await drive(context, [changes({ ...parameters, after: first?.next })]);
        const [second] = batchesOf(stored.results);
        expect(second).toMatchObject({ ids: [expect.any(String)], more: false });
      });

      it('and keeps to its share of the quota', async (context) => {
        // 4 requests in 3 s, of which a half are its own.
        const id = await giveStore(meagre, `shares${language}`);
        const given = { of: meagre, id };
        const { data, tokens } = await drive(context, [changes({ wait: 0 }, 4)], given);
        expect(data.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        // Three pauses of 1.5 s, the first of which began before the request for a token.
        expect((data[3]?.cameAt ?? 0) - (tokens[0]?.cameAt ?? 0)).toBeGreaterThan(3_000);
      });

      it('until it is stopped, at once', async (context) => {
        const began = performance.now();
        const { results } = await drive(context, [{ op: 'stop' }]);
        expect(results[0]?.error?.name ?? results[0]?.value).toMatch(/^AbortError|ClientClosed$/);
        // The API would have held the request for 30 s.
        expect(performance.now() - began).toBeLessThan(25_000);
      });
    });

    it('shows no secret and no token in errors and in itself', async (context) => {
      const told: string[] = [];
      const note: Fault = async ({ ask, response }) => {
        const answer = await ask();
        told.push((JSON.parse(answer.body.toString()) as { access_token: string }).access_token);
        send(response, answer);
      };
      const faults = { token: [note], data: [none, reset, html502, cutBody, frozen] };
      const refused = { op: 'get', id: 'nothing' };
      const steps = [GET, GET, GET, GET, GET, refused, { op: 'printed' }];
      const { results } = await drive(context, steps, { retries: 0, timeout: 5, ...faults });
      const names = results.map(({ error }) => error?.name.replace(/^Connection.*/, 'Connection'));
      const [lost, answered] = ['Connection', 'ApiError'];
      expect(names).toEqual([undefined, lost, answered, lost, lost, answered, undefined]);

      const wrong = await drive(context, [GET], { id: 'nobody' });
      expect(wrong.results).toMatchObject([{ error: { status: 401, code: 'invalid_client' } }]);
      const printed = [...results, ...wrong.results]
        .map(({ value, error }) => error?.printed ?? String(value))
        .join('\n');
      const [token = ''] = told;
      expect(token.length).toBeGreaterThan(20);
      for (const secret of [SECRET, btoa(`${clientOf(service)}:${SECRET}`), token])
        expect(printed).not.toContain(secret);
    });
  },
);

const MODULES = 'runtimes/node_modules';
/** The program and its arguments, in the folder of the test or on the path. */
const RUNTIMES = {
  'Node 20': [`${MODULES}/node20/bin/node`],
  'Node 22': [`${MODULES}/node22/bin/node`],
  Bun: [`${MODULES}/@oven/bun-linux-x64-baseline/bin/bun`],
  Deno: [`${MODULES}/@deno/linux-x64-glibc/deno`, 'run', '--allow-all'],
  'Python 3.10': ['python3.10'],
  'Python 3.11': ['python3.11'],
  'Python 3.12': ['python3.12'],
  'Python 3.13': ['python3.13'],
  'Python 3.14': ['python3.14'],
};

const ALL_RUNTIMES = process.env['RUNTIMES'] === 'all';
if (!ALL_RUNTIMES)
  process.stderr.write('skipped, other runtimes: `npm run test:runtimes` has them\n');

describe.runIf(ALL_RUNTIMES)('the packages run on', () => {
  const packages = join(folder, 'runtimes');
  let fetched: Promise<PromiseSettledResult<unknown>>;
  beforeAll(() => {
    const ci = words('ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error');
    const fetch = async () => {
      if (process.platform !== 'linux' || process.arch !== 'x64')
        throw new Error('the runtimes are for Linux on x64');
      await cp(join(import.meta.dirname, 'runtimes'), packages, { recursive: true });
      await run('npm', ci, { cwd: packages });
    };
    fetched = settled(fetch());
  });

  it.for(Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[])('%s', async (name, context) => {
    const [program = '', ...args] = RUNTIMES[name];
    const isPython = name.startsWith('Python');
    await prepared(isPython ? settled(run(program, ['--version'])) : fetched, context);
    const drive = isPython
      ? await LANGUAGES.Python(context, program)
      : driverOf(join(folder, program), [...args, 'driver.mjs']);
    const list = { op: 'list', filters: { page_size: 2 } };
    const customers = changes({ kinds: ['customer'] });
    const faults = { data: [html502, cutBody, none, otherToken] };
    const { results } = await drive([GET, GET, list, customers, { op: 'stop' }], faults);
    expect(results.slice(0, 2)).toEqual([{ value: 'o1' }, { value: 'o1' }]);
    expect(results[2]?.value).toContain('o3');
    expect(batchesOf(results.slice(3))).toMatchObject([{ more: false }]);
    expect(results[4]?.error?.name).toMatch(/^AbortError|ClientClosed$/);
  });
});
