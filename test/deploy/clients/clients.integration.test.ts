/**
 * Both clients, packed and installed, against the real service: what they read, and what they do
 * when something goes wrong.
 */
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { aCustomer, anOrder, aStore } from '#test/changes.ts';
import { useFolder } from '#test/folder.ts';
import { useQueryService } from '#test/hooks.ts';
import { words } from '#test/words.ts';
import { prepared, settled } from '../../clients/programs.ts';
import { type Faults, FAULTS, type Passed, startFaultyProxy } from './faulty-proxy.ts';
import { installPython, installTypeScript, pythonTools } from './packed.ts';

const run = promisify(execFile);
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
const tools = settled(pythonTools());

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
  await of.apply([aStore(id), ...orders, { ...aCustomer('c1'), storeId: id }]);
  return id;
}

interface Outcome {
  value?: unknown;
  error?: {
    name: string;
    status: number | null;
    code: string | null;
    detail: string;
    requestId: string;
    printed: string;
  };
}

interface Settings extends Faults {
  of?: typeof service;
  /** Whether the client asks the API itself. */
  direct?: true;
  scopes?: string[];
  timeout?: number;
  retries?: number;
  id?: string;
}

type Steps = { op: string; [argument: string]: unknown }[];

/** A client in a process of its own, by a proxy of its own unless it asks directly. */
interface Driven {
  results: Outcome[];
  retries: [string, number, number][];
  data: Passed[];
  tokens: Passed[];
  /** `<method> <status>` of all that passed. */
  statuses: string[];
}
type Drive = (steps: Steps, settings?: Settings) => Promise<Driven>;

function driverOf(file: string, args: string[], env: NodeJS.ProcessEnv): Drive {
  return async (steps, { of = service, direct, data, token, ...others } = {}) => {
    await using proxy = await startFaultyProxy(of.url, {
      ...(data && { data }),
      ...(token && { token }),
    });
    const url = direct ? of.url : proxy.url;
    const client = { url, id: clientOf(of), secret: SECRET, ...others };
    const given = [...args, JSON.stringify({ client, steps })];
    const { stdout } = await run(file, given, { cwd: project, env, timeout: LIMIT_MS });
    const { passed } = proxy;
    const isToken = ({ target }: Passed) => target.startsWith('/api/auth/');
    return {
      ...(JSON.parse(stdout) as Pick<Driven, 'results' | 'retries'>),
      data: passed.filter((one) => !isToken(one)),
      tokens: passed.filter(isToken),
      statuses: passed.map(({ method, status }) => `${method} ${status}`),
    };
  };
}

const pythonEnv = (packages: string) => ({
  ...process.env,
  PYTHONPATH: packages,
  PYTHONDONTWRITEBYTECODE: '1',
});

const LANGUAGES = {
  TypeScript: async () => driverOf(process.execPath, ['driver.mjs'], process.env),
  Python: async (context: TestContext, program = 'python3') => {
    const packages = await installPython(await prepared(tools, context));
    return driverOf(program, ['driver.py'], pythonEnv(packages));
  },
};

/** What the only step gave. */
const batchesOf = ([only]: Outcome[]) =>
  (only?.value ?? []) as { ids: string[]; next: string; more: boolean }[];
const GET = { op: 'get', id: 'o1' };

describe.concurrent.each(Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[])(
  'the %s client',
  (language) => {
    const drive = async (context: TestContext, ...[steps, settings]: Parameters<Drive>) =>
      (await LANGUAGES[language](context))(steps, settings);

    describe('reads', () => {
      it('records, lists, pages, and entity tags, without a proxy', async (context) => {
        const { results } = await drive(
          context,
          [
            GET,
            { op: 'list', filters: { page_size: 2 } },
            {
              op: 'pages',
              filters: { page_size: 2, order_type: ['delivery', 'takeout', 'indoor'] },
            },
            { op: 'conditional' },
            { op: 'everything' },
            { op: 'instant', local: '2026-11-20T18:15:04', offset: '-03:00' },
          ],
          { direct: true },
        );
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

      it('fewer scopes when they are narrowed', async (context) => {
        const narrowed = { scopes: ['store', 'crm'] };
        const { results, statuses } = await drive(context, [GET], narrowed);
        expect(results[0]?.error).toMatchObject({
          name: 'ApiError',
          status: 403,
          code: 'insufficient_scope',
        });
        expect(statuses).toEqual(['POST 200', 'GET 403']);
      });

      it('an error at once that says what is wrong', async (context) => {
        const steps = [
          { op: 'get', id: 'nothing' },
          { op: 'list', filters: { statsu: ['pending'] } },
          { op: 'list', filters: { status: [] } },
        ];
        const { results, retries, data } = await drive(context, steps);
        expect(results.map(({ error }) => [error?.status, error?.code])).toEqual([
          [404, 'not_found'],
          [422, 'invalid_parameters'],
          [422, 'invalid_parameters'],
        ]);
        expect(results[1]?.error?.detail).toContain('statsu');
        expect(results[0]?.error?.requestId).toMatch(/^[\w.-]+$/);
        expect(retries).toEqual([]);
        expect(data).toHaveLength(3);
      });
    });

    describe('gets tokens', () => {
      it('one for many calls at once', async (context) => {
        const { results, tokens } = await drive(context, [{ op: 'many', n: 12 }]);
        expect(results).toEqual([{ value: 12 }]);
        expect(tokens).toHaveLength(1);
      });

      it('one request for many calls, also if it fails', async (context) => {
        const once = { retries: 0, timeout: 3, token: [FAULTS.frozen] };
        const { results, statuses } = await drive(context, [{ op: 'many', n: 6 }], once);
        expect(results[0]?.error?.name).toMatch(/^Connection/);
        expect(statuses).toEqual(['POST 0']);
      });

      it('a new one before the old one expires', async (context) => {
        const steps = [GET, { op: 'sleep', ms: 1_600 }, GET];
        const { results, statuses } = await drive(context, steps, { of: brief });
        expect(results.filter(({ error }) => error)).toEqual([]);
        expect(statuses).toEqual(['POST 200', 'GET 200', 'POST 200', 'GET 200']);
      });

      it('a new one once after a 401', async (context) => {
        const once = await drive(context, [GET], { data: [FAULTS.otherToken] });
        expect(once).toMatchObject({ results: [{ value: 'o1' }], retries: [] });
        expect(once.statuses).toEqual(['POST 200', 'GET 401', 'POST 200', 'GET 200']);

        const refused = { data: [FAULTS.otherToken, FAULTS.otherToken] };
        const { results, statuses } = await drive(context, [GET], refused);
        expect(results[0]?.error).toMatchObject({ status: 401, code: 'invalid_token' });
        expect(statuses).toEqual(['POST 200', 'GET 401', 'POST 200', 'GET 401']);
      });

      it('none with a key that is revoked, and stops at once', async (context) => {
        const id = await giveStore(service, `revoked${language}`);
        const revoke: typeof FAULTS.none = async (exchange) => {
          const key = { clientId: id, storeId: id, secrets: [SECRET] };
          await service.setKey({ ...key, status: 'revoked' });
          await FAULTS.none(exchange);
        };
        const faults = { data: [FAULTS.none, revoke] };
        const { results, retries, statuses } = await drive(context, [GET, GET], { id, ...faults });
        expect(results[1]?.error).toMatchObject({
          name: 'ApiError',
          status: 401,
          code: 'invalid_client',
        });
        expect(retries).toEqual([]);
        expect(statuses).toEqual(['POST 200', 'GET 200', 'GET 401', 'POST 401']);
      });

      it('after the token endpoint failed', async (context) => {
        const faults = { token: [FAULTS.html502, FAULTS.endedBody] };
        const { results, retries } = await drive(context, [{ op: 'many', n: 3 }], faults);
        expect(results).toEqual([{ value: 3 }]);
        expect(retries.map(([name]) => name)).toEqual(expect.arrayContaining(['ApiError']));
      });
    });

    describe('repeats', () => {
      it('after `Retry-After` when the quota is used up, and makes no request before', async (context) => {
        const id = await giveStore(meagre, `repeats${language}`);
        const { results, data } = await drive(context, [{ op: 'untilRepeated' }], {
          of: meagre,
          id,
        });
        expect(results).toEqual([{ value: true }]);
        const refused = data.filter(({ status }) => status === 429);
        expect(refused.length).toBeGreaterThan(0);
        for (const { leftAt, retryAfter } of refused) {
          expect(retryAfter).toBeGreaterThan(0);
          const next = data.find(({ cameAt }) => cameAt > leftAt);
          expect((next?.cameAt ?? 0) - leftAt).toBeGreaterThanOrEqual(
            retryAfter * 1_000 - TIMER_MS,
          );
        }
      });

      it('no other call either while one waits for `Retry-After`', async (context) => {
        const faults = { data: [FAULTS.quotaUsedUp] };
        const { results, data } = await drive(context, [{ op: 'quiet' }], faults);
        expect(results).toEqual([{ value: ['o1', 'o2'] }]);
        const [refused, ...later] = data;
        expect(later).toHaveLength(2);
        for (const { cameAt } of later) {
          expect(cameAt - (refused?.leftAt ?? 0)).toBeGreaterThanOrEqual(2_000 - TIMER_MS);
        }
      });

      it.for(['html502', 'reset', 'cutBody', 'endedBody'] as const)(
        'after %s, with growing pauses',
        async (fault, context) => {
          const faults = { data: [FAULTS[fault], FAULTS[fault]] };
          const { results, retries } = await drive(context, [GET], faults);
          expect(results).toEqual([{ value: 'o1' }]);
          expect(retries.map(([, attempt]) => attempt)).toEqual([1, 2]);
          const [first = 0, second = 0] = retries.map(([, , pause]) => pause);
          expect(first).toBeGreaterThanOrEqual(0.75);
          expect(first).toBeLessThanOrEqual(1.25);
          expect(second).toBeGreaterThanOrEqual(1.5);
          expect(second).toBeLessThanOrEqual(2.5);
        },
      );

      it('when no answer comes in time', async (context) => {
        const faults = { timeout: 5, data: [FAULTS.frozen] };
        const { results, retries } = await drive(context, [GET], faults);
        expect(results).toEqual([{ value: 'o1' }]);
        expect(retries).toHaveLength(1);
      });

      it('only so often, and says then what came', async (context) => {
        const faults = { retries: 1, data: [FAULTS.html502, FAULTS.html502] };
        const { results, data } = await drive(context, [GET], faults);
        expect(results[0]?.error).toMatchObject({ name: 'ApiError', status: 502, code: 'unknown' });
        expect(data).toHaveLength(2);
      });

      it.for(['html200', 'redirected'] as const)(
        'not after %s: the address is wrong',
        async (fault, context) => {
          const { results, data } = await drive(context, [GET], { data: [FAULTS[fault]] });
          expect(results[0]?.error).toMatchObject({ name: 'ApiError', code: 'unknown' });
          expect(data).toHaveLength(1);
        },
      );
    });

    describe('follows changes', () => {
      const changes = (parameters: object, batches: number) => ({
        op: 'changes',
        parameters,
        batches,
      });

      it('and asks for the next batch only when the one before was taken', async (context) => {
        const parameters = { kinds: ['order', 'customer'], page_size: 3 };
        const { results, data } = await drive(context, [changes(parameters, 1)]);
        const [first] = batchesOf(results);
        expect(first).toMatchObject({ more: true });
        expect(first?.ids).toHaveLength(3);
        expect(data).toHaveLength(1);

        // From what was stored, also in another process.
        const stored = await drive(context, [changes({ ...parameters, after: first?.next }, 1)]);
        const [second] = batchesOf(stored.results);
        expect(second?.ids).toHaveLength(1);
        expect(second?.more).toBe(false);
      });

      it('and holds requests until something changes, through faults', async (context) => {
        const id = await giveStore(service, `followed${language}`);
        const change: typeof FAULTS.none = async (exchange) => {
          const answered = FAULTS.none(exchange);
          await service.apply([anOrder('o4', {}, id)]);
          await answered;
        };
        const before = await drive(context, [changes({ kinds: ['order'] }, 1)], { id });
        const after = batchesOf(before.results)[0]?.next;
        const step = changes({ kinds: ['order'], after, wait: 30 }, 1);
        const faults = { data: [FAULTS.reset, FAULTS.html502, change] };
        const { results, retries } = await drive(context, [step], { id, ...faults });
        expect(retries).toHaveLength(2);
        expect(batchesOf(results)[0]?.ids).toContainEqual(expect.stringContaining('order/o4/'));
      });

      it('and keeps to its share of the quota', async (context) => {
        // 4 requests in 3 s, of which a half are its own.
        const id = await giveStore(meagre, `shares${language}`);
        const given = { of: meagre, id };
        const { results, data, tokens } = await drive(context, [changes({ wait: 0 }, 4)], given);
        expect(results[0]?.value).toHaveLength(4);
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
      const note = async (exchange: Parameters<typeof FAULTS.none>[0]) => {
        const { body } = await exchange.ask();
        told.push((JSON.parse(body.toString()) as { access_token: string }).access_token);
        exchange.response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      };
      const faults = {
        token: [note],
        data: [FAULTS.none, FAULTS.reset, FAULTS.html502, FAULTS.cutBody, FAULTS.frozen],
      };
      const refused = { op: 'get', id: 'nothing' };
      const steps = [GET, GET, GET, GET, GET, refused, { op: 'printed' }];
      const { results } = await drive(context, steps, { retries: 0, timeout: 5, ...faults });
      expect(
        results.map(({ error }) => error?.name.replace('ConnectionFailed', 'ConnectionError')),
      ).toEqual([
        undefined,
        'ConnectionError',
        'ApiError',
        'ConnectionError',
        'ConnectionError',
        'ApiError',
        undefined,
      ]);
      const printed = results.map(({ value, error }) => error?.printed ?? String(value)).join('\n');
      const [token = ''] = told;
      expect(token.length).toBeGreaterThan(20);
      for (const secret of [SECRET, btoa(`${clientOf(service)}:${SECRET}`), token])
        expect(printed).not.toContain(secret);

      const wrong = await drive(context, [GET], { id: 'nobody' });
      expect(wrong.results[0]?.error).toMatchObject({ status: 401, code: 'invalid_client' });
      expect(wrong.results[0]?.error?.printed).not.toContain(SECRET);
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
      : driverOf(join(folder, program), [...args, 'driver.mjs'], process.env);
    const list = { op: 'list', filters: { page_size: 2 } };
    const changes = { op: 'changes', parameters: { kinds: ['customer'] }, batches: 1 };
    const faults = { data: [FAULTS.html502, FAULTS.cutBody, FAULTS.none, FAULTS.otherToken] };
    const { results } = await drive([GET, GET, list, changes, { op: 'stop' }], faults);
    expect(results.slice(0, 2)).toEqual([{ value: 'o1' }, { value: 'o1' }]);
    expect(results[2]?.value).toContain('o3');
    expect(batchesOf(results.slice(3))).toMatchObject([{ more: false }]);
    expect(results[4]?.error?.name).toMatch(/^AbortError|ClientClosed$/);
  });
});
