/** From nothing to a result: servers, a store with keys, then each comparison. */
import { fileURLToPath } from 'node:url';
import { SCOPES } from '#shared/events/access-event.ts';
import { layGround } from '../ground.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine } from '../machine.ts';
import type { Side } from '../in-turn.ts';
import { serviceProgram } from '../programs.ts';
import { fillStores } from '../query/fill.ts';
import { makeStores, RECORDS_STORE } from '../query/stores/stores.ts';
import { type BenchKey, fetchToken, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import type { RunningService } from '../service.ts';
import type { AccessBenchOptions } from './options.ts';
import { compare } from './compare.ts';
import { timeRefusals } from './refusals.ts';
import { progressLine } from './report.ts';
import type { AccessBenchResult, Comparison } from './result.ts';

const OIDC_PROVIDER = fileURLToPath(new URL('./oidc-provider.ts', import.meta.url));
const WITHOUT_ACCESS = fileURLToPath(new URL('./without-access.ts', import.meta.url));

/** Failures are timed, so none may be limited; sessions end as soon as they do in production. */
const SETTINGS = {
  TOKEN_LIFETIME_SECONDS: '900',
  AUTH_FAILURES_PER_CLIENT_AND_ADDRESS: '1000000000',
  AUTH_FAILURES_PER_ADDRESS: '1000000000',
  AUTH_FAILURES_PER_CLIENT: '1000000000',
};
/** Few: what the access path costs does not depend on them, what the rest of a request costs does. */
const RECORDS = 200;
const KEYS = 20;
const ROUTES = [
  ['store info', '/api/store/info/'],
  ['order details', '/api/order/details/?order_id=o7'],
  ['order list', '/api/order/list'],
  ['product list', '/api/product/list'],
] as const;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runAccessBench(
  options: AccessBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<AccessBenchResult> {
  const { connections, seconds, rounds } = options;
  const ground = await layGround(say, cleanup, SETTINGS);
  const { installation } = ground;
  const keys = await publishKeys(
    installation,
    Array.from({ length: KEYS }, () => RECORDS_STORE),
  );
  const stores = makeStores(RECORDS).filter(({ storeId }) => storeId === RECORDS_STORE);
  await fillStores(ground, stores, say);

  const program = await serviceProgram('query');
  const ours = await ground.start(program);
  const load = startLoad(cleanup);
  const measure = async (sides: Parameters<typeof compare>[1]): Promise<Comparison> => {
    const compared = await compare(load, sides, options);
    say(progressLine(compared));
    return compared;
  };

  const provider = await ground.start(
    { name: 'oidc-provider', file: OIDC_PROVIDER },
    { NODE_ENV: 'production', BENCH_CLIENTS: JSON.stringify(keys) },
  );
  const tokens = await measure({
    name: 'tokens',
    ours: tokenRequests(ours, '/api/auth/token/', keys),
    other: tokenRequests(provider, '/token', keys),
  });
  const startOpen = async () => {
    const open = { ...program, name: 'without-access', file: WITHOUT_ACCESS };
    return ground.start(open, { BENCH_STORE: RECORDS_STORE });
  };
  const data = options.tokensOnly ? [] : await compareRoutes({ ours, keys, startOpen, measure });
  const [key] = keys;
  if (key === undefined) throw new Error('there is no key');
  const refusals = options.tokensOnly ? [] : await timeRefusals(ours.url, key);
  return {
    benchmark: 'access',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: `npm run bench -- access --connections ${connections} --seconds ${seconds} --rounds ${rounds}`,
    connections,
    seconds,
    rounds,
    tokens,
    data,
    refusals,
  };
}

/** Each key in turn, with the same form for both sides. */
function tokenRequests({ url, pid }: RunningService, path: string, keys: readonly BenchKey[]): Side {
  return {
    pid,
    url: `${url}${path}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&scope=${SCOPES.join('+')}`,
    each: keys.map(({ clientId, secret }) => ({
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
    })),
    status: 200,
  };
}

async function compareRoutes({
  ours,
  keys,
  startOpen,
  measure,
}: {
  ours: RunningService;
  keys: readonly BenchKey[];
  /** Starts the same service without its access path. */
  startOpen: () => Promise<RunningService>;
  measure: (sides: Parameters<typeof compare>[1]) => Promise<Comparison>;
}): Promise<Comparison[]> {
  // A token of each key in turn, as of an integration for each.
  const each = await Promise.all(
    keys.map(async (key) => ({ authorization: `Bearer ${await fetchToken(ours.url, key)}` })),
  );
  const open = await startOpen();
  const compared: Comparison[] = [];
  for (const [name, path] of ROUTES) {
    compared.push(
      await measure({
        name,
        ours: { pid: ours.pid, url: `${ours.url}${path}`, headers: {}, each, status: 200 },
        other: { pid: open.pid, url: `${open.url}${path}`, headers: {}, each, status: 200 },
      }),
    );
  }
  return compared;
}
