/** `npm run bench -- access`: tokens beside oidc-provider, and what the access path costs a data request. */
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { SCOPES } from '#shared/events/access-event.ts';
import { layGround } from '../ground.ts';
import { measureInTurn, type Side, type SideResult, summarize } from '../in-turn.ts';
import { type Load, startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { addShowing, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import { serviceProgram } from '../programs.ts';
import { fillStores } from '../query/setup.ts';
import { sizeOf, storeOf } from '../query/stores/stores.ts';
import { type BenchKey, fetchToken, publishKeys } from '../query/tokens.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';
import type { RunningService } from '../service.ts';
import { grouped, measuredOn, table } from '../table.ts';

const OIDC_PROVIDER = fileURLToPath(new URL('./oidc-provider.ts', import.meta.url));
const WITHOUT_ACCESS = fileURLToPath(new URL('./without-access.ts', import.meta.url));

/** Sessions end as soon as they do in production. */
const SETTINGS = { TOKEN_LIFETIME_SECONDS: '900' };
/** Few: what the access path costs does not depend on them, what the rest of a request costs does. */
const ORDERS = 200;
const STORE = 'records';
const KEYS = 20;
const ROUTES = [
  ['store info', '/api/store/info/'],
  ['order details', '/api/order/details/?order_id=o7'],
  ['order list', '/api/order/list'],
  ['product list', '/api/product/list'],
] as const;

export interface AccessBenchOptions {
  connections: number;
  seconds: number;
  rounds: number;
  tokensOnly?: true;
}

const WARM_UP_SECONDS = 2;

async function compare(
  load: Load,
  { name, ...sides }: { name: string; ours: Side; other: Side },
  options: AccessBenchOptions,
): Promise<Comparison> {
  const measured = await measureInTurn(load, sides, { ...options, warmUpSeconds: WARM_UP_SECONDS });
  return { name, ...summarize(measured) };
}

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
    Array.from({ length: KEYS }, () => STORE),
  );
  await fillStores(ground, [storeOf(sizeOf(STORE, ORDERS))], say);

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
    return ground.start(open, { BENCH_STORE: STORE });
  };
  const data = options.tokensOnly ? [] : await compareRoutes({ ours, keys, startOpen, measure });
  return {
    benchmark: 'access',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: `npm run bench -- access --connections ${connections} --seconds ${seconds} --rounds ${rounds}`,
    tokens,
    data,
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

/** Two sides, measured in turn; medians of the rounds. */
export interface Comparison {
  name: string;
  ours: SideResult;
  other: SideResult;
  /** Median of the rounds' ratios of requests a second, ours by the other's. */
  ratio: number;
  round_ratios: number[];
}

export interface AccessBenchResult {
  benchmark: 'access';
  date: string;
  machine: Machine;
  /** What repeats it. */
  command: string;
  /** Tokens, ours beside oidc-provider. */
  tokens: Comparison;
  /** Data requests, with and without the access path. */
  data: Comparison[];
}

/** `cpu µs` is the service's own processor time for a request. */
const SIDE = ['p50 ms', 'p99 ms', 'cpu µs'];
const COMPARED = ['', 'ours', ...SIDE, 'other', ...SIDE, 'ratio'];

/** One comparison as soon as it is known. */
export function progressLine({ name, ours, other, ratio }: Comparison): string {
  const rates = `${grouped(ours.requests_per_second)} / ${grouped(other.requests_per_second)} req/s`;
  return `${name}: ${rates}, ${ratio.toFixed(2)}×`;
}

/** The result in words and figures. */
export function render(result: AccessBenchResult): string {
  const { tokens, data } = result;
  const compared = [
    comparedCells({ ...tokens, name: 'tokens, beside oidc-provider' }),
    ...data.map((row) => comparedCells({ ...row, name: `${row.name}, beside none` })),
  ];
  return [measuredOn(result), table(COMPARED, compared)].join('\n');
}

function comparedCells({ name, ours, other, ratio }: Comparison): string[] {
  const figures = [ours, other].flatMap((side) => [
    grouped(side.requests_per_second),
    side.p50_ms.toFixed(1),
    side.p99_ms.toFixed(1),
    (side.cpu_ms * 1_000).toFixed(0),
  ]);
  return [name, ...figures, `${ratio.toFixed(2)}×`];
}

export function addAccessBench(program: Command): void {
  const command = program
    .command('access')
    .description('Tokens a second beside oidc-provider, and what access costs a data request.')
    .addOption(connectionsOption())
    .addOption(secondsOption(3))
    .addOption(roundsOption(3))
    .option('--tokens-only', 'nothing but the tokens');
  addShowing(command).action(async ({ json, writeDocs, ...options }: AccessBenchOptions & Showing) => {
    const shown = { section: 'access', json, writeDocs, screen: render, markdown: render };
    await runAndPresent((cleanup) => runAccessBench(options, say, cleanup), shown);
  });
}
