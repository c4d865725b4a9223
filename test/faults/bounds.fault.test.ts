/**
 * Stores at the bounds of the contract ask everything on many connections: the service stays within
 * the memory that the chart gives it, and a small store gets its answers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  batchesOf,
  COMBINATIONS,
  questionsAbout,
  recordsAtBounds,
  targetOf,
} from '#test/bound-stores.ts';
import { PATHS } from '#test/declared-parameters.ts';
import { anOrder } from '#test/changes.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { inheritedEnvironment } from '#test/service-process.ts';
import { times } from '#test/times.ts';
import { percentile } from '../bench/median.ts';
import { peakMebibytes } from '../bench/process-figures.ts';
import { type Asked, startAsking } from './bounds/asking.ts';

const CONNECTIONS = 64;
const SECONDS = 5;
const SIZES = { customer: 220, order: 220, product: 220, review: 220, campaign: 110, coupon: 110 };
const SMALL = 'small';
const SMALL_TARGETS = [
  '/api/order/details/?order_id=o1',
  '/api/order/list',
  '/api/order/list?page=3',
];
const EVERY_MS = 50;
/** How much longer the small store's answers may take than those of a process of its own. */
const MAX_RATIO = 3;

const say = (line: string) => process.stdout.write(`${line}\n`);

const service = useQueryService({
  partitions: 1,
  settings: { QUOTA_REQUESTS: '1000000', QUOTA_WINDOW_SECONDS: '3600' },
});

/** The process as `npm run start:query` starts it. */
async function start() {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  const command = (scripts['start:query'] ?? '').replace(' node ', ` '${process.execPath}' `);
  const child = spawn('sh', ['-c', `exec env ${command}`], {
    env: { ...inheritedEnvironment(), ...service.installation.env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const close = async () => {
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== 'query service started') continue;
    child.stdout.resume();
    return { pid: child.pid ?? 0, url, close };
  }
  throw new Error('the query service ended');
}
const asked = useMade(start);
const other = useMade(start);

const stores = COMBINATIONS.map((bounds, index) => ({ bounds, storeId: `s${index}` }));

beforeAll(async () => {
  for (const storeId of [SMALL, ...stores.map((store) => store.storeId)])
    await service.tokenFor(storeId);
  await service.apply(times(100, (index) => anOrder(`o${index}`, {}, SMALL)));
  for (const { storeId, bounds } of stores) {
    for (const some of batchesOf(recordsAtBounds(storeId, bounds, SIZES)))
      await service.apply(some);
  }
  await service.stopProjector();
});

const TARGETS = PATHS.flatMap((path) => [...questionsAbout(path, 1)]).map(targetOf);

/** Both ask for a while; the small store asks the service at `url`. */
async function besideEachOther(storeId: string, url: string) {
  const [token, small] = [await service.tokenFor(storeId), await service.tokenFor(SMALL)];
  const large = { url: asked.url, token, targets: TARGETS, connections: CONNECTIONS, pauseMs: 0 };
  const own = { url, token: small, targets: SMALL_TARGETS, connections: 1, pauseMs: EVERY_MS };
  const [endLarge, endOwn] = [startAsking(large), startAsking(own)];
  await pause(SECONDS * 1_000);
  return { small: await endOwn(), many: await endLarge() };
}

const p99 = (all: Asked[]) =>
  percentile(
    all.flatMap(({ milliseconds }) => milliseconds),
    0.99,
  );

it('leaves a small store its answers and their time, within the memory of the chart', async () => {
  const together: Asked[] = [];
  const apart: Asked[] = [];
  for (const { storeId, bounds } of stores) {
    const { small, many } = await besideEachOther(storeId, asked.url);
    // As busy a machine and MongoDB, and only the process is another one.
    apart.push((await besideEachOther(storeId, other.url)).small);
    together.push(small);
    const peak = await peakMebibytes(asked.pid);
    say(
      `${bounds.join(' and ') || 'none'}: ${JSON.stringify(many.statuses)}, the small store ${JSON.stringify(small.statuses)}, peak ${peak.toFixed(0)} MiB`,
    );
    expect(many.milliseconds.length).toBeGreaterThan(CONNECTIONS);
    expect(small.statuses[200] ?? 0).toBeGreaterThanOrEqual(0.99 * small.milliseconds.length);
  }
  const [ms, aloneMs] = [p99(together), p99(apart)];
  say(
    `p99 of the small store ${ms.toFixed(0)} ms, in a process of its own ${aloneMs.toFixed(0)} ms`,
  );
  expect(ms / aloneMs).toBeLessThan(MAX_RATIO);
  const values = await readFile('deploy/helm/store-data/values.yaml', 'utf8');
  const { query } = parse(values) as { query: { resources: { limits: { memory: string } } } };
  const { memory } = query.resources.limits;
  expect(memory).toMatch(/^\d+Mi$/);
  expect(await peakMebibytes(asked.pid)).toBeLessThan(Number.parseInt(memory, 10));
});
