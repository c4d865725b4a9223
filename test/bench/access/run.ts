/**
 * `npm run bench -- access`: tokens compared with oidc-provider, and the cost of access checks per
 * data request.
 */
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { SCOPES } from '#shared/events/access-event.ts';
import {
  type Bench,
  connectionsOption,
  grouped,
  roundsOption,
  secondsOption,
  table,
} from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { measureInTurn, type Side, type SideResult, summarize } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { fillStores } from '../query/setup.ts';
import { sizeOf, storeOf } from '../query/stores.ts';
import { type BenchKey, fetchToken, publishKeys } from '../query/tokens.ts';
import { say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';

const OIDC_PROVIDER = fileURLToPath(new URL('./oidc-provider.ts', import.meta.url));
const WITHOUT_ACCESS = fileURLToPath(new URL('./without-access.ts', import.meta.url));

/** Few orders: they increase the cost of a request, but not of its access checks. */
const ORDERS = 200;
const STORE = 'records';
const KEYS = 20;
const ROUTES = [
  ['store info', '/api/store/info/'],
  ['order details', '/api/order/details/?order_id=o7'],
  ['order list', '/api/order/list'],
  ['product list', '/api/product/list'],
] as const;
const WARM_UP_SECONDS = 2;

interface AccessOptions {
  connections: number;
  seconds: number;
  rounds: number;
  tokensOnly?: true;
}

/** Medians of the rounds, and of the ratios of requests per second, ours divided by the other's. */
interface Comparison {
  name: string;
  ours: SideResult;
  other: SideResult;
  ratio: number;
}

async function run(context: BenchContext, options: AccessOptions): Promise<{ rows: Comparison[] }> {
  const keys = await publishKeys(context.installation, Array<string>(KEYS).fill(STORE));
  await fillStores(context, [storeOf(sizeOf(STORE, ORDERS))]);
  const program = await serviceProgram('query');
  const ours = await context.start(program);
  const load = startLoad(context.cleanup);
  const rows: Comparison[] = [];
  const compare = async (name: string, sides: { ours: Side; other: Side }) => {
    const measured = await measureInTurn(load, sides, {
      ...options,
      warmUpSeconds: WARM_UP_SECONDS,
    });
    const row = { name, ...summarize(measured) };
    say(`${name}: ${row.ratio.toFixed(2)}×`);
    rows.push(row);
  };

  const provider = await context.start(
    { name: 'oidc-provider', file: OIDC_PROVIDER },
    { NODE_ENV: 'production', BENCH_CLIENTS: JSON.stringify(keys) },
  );
  await compare('tokens, compared with oidc-provider', {
    ours: tokenRequests(ours, '/api/auth/token/', keys),
    other: tokenRequests(provider, '/token', keys),
  });
  if (options.tokensOnly) return { rows };
  // Tokens of all keys in turn, like an integration per key.
  const requests = await Promise.all(
    keys.map(async (key) => ({
      headers: { authorization: `Bearer ${await fetchToken(ours.url, key)}` },
    })),
  );
  const open = await context.start(
    { ...program, name: 'without-access', file: WITHOUT_ACCESS },
    { BENCH_STORE: STORE },
  );
  for (const [name, path] of ROUTES) {
    const sideOf = ({ pid, url }: RunningService) => ({
      pid,
      url: url + path,
      headers: {},
      requests,
      status: 200,
    });
    await compare(`${name}, compared with no access checks`, {
      ours: sideOf(ours),
      other: sideOf(open),
    });
  }
  return { rows };
}

/** Token requests of all keys in turn, with the same form for both sides. */
function tokenRequests(
  { url, pid }: RunningService,
  path: string,
  keys: readonly BenchKey[],
): Side {
  return {
    pid,
    url: `${url}${path}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&scope=${SCOPES.join('+')}`,
    requests: keys.map(({ clientId, secret }) => ({
      headers: {
        authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      },
    })),
    status: 200,
  };
}

/** `cpu µs` is the processor time of the service per request. */
const SIDE = ['p50 ms', 'p99 ms', 'cpu µs'];

function render({ rows }: { rows: readonly Comparison[] }): string {
  const figures = (side: SideResult) => [
    grouped(side.requests_per_second),
    side.p50_ms.toFixed(1),
    side.p99_ms.toFixed(1),
    (side.cpu_ms * 1_000).toFixed(0),
  ];
  return table(
    ['request', 'ours req/s', ...SIDE, 'compared with: req/s', ...SIDE, 'req/s ratio'],
    rows.map(({ name, ours, other, ratio }) => [
      name,
      ...figures(ours),
      ...figures(other),
      `${ratio.toFixed(2)}×`,
    ]),
  );
}

export const accessBench: Bench<AccessOptions, { rows: Comparison[] }> = {
  name: 'access',
  description:
    'Tokens compared with oidc-provider, and the cost of access checks per data request.',
  options: [
    connectionsOption(),
    secondsOption(3),
    roundsOption(3),
    new Option('--tokens-only', 'only tokens'),
  ],
  // The session lifetime of production.
  settings: { TOKEN_LIFETIME_SECONDS: '900' },
  run,
  render,
};
