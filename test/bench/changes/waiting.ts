/** Clients that wait: what thousands of them cost, and how soon those of busy stores are answered beside them. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, type Installation } from '#test/installation.ts';
import { type LiveStore, publishSteadily } from '../freshness/stream.ts';
import { rounded } from '../median.ts';
import { cpuSeconds, residentMebibytes } from '../process-figures.ts';
import type { Say } from '../say.ts';
import type { FollowersOrder, FollowersReport } from './followers.ts';
import type { WaitersOrder, WaitersReport } from './waiters.ts';

export interface WaitingSetup {
  installation: Installation;
  query: { pid: number; url: string };
  quiet: readonly string[];
  live: readonly LiveStore[];
  tokenOf: (storeId: string) => string;
  say: Say;
  cleanup: AsyncDisposableStack;
}

export interface WaitingResult {
  waiters: number;
  /** Memory of the query service that each takes, connection included. */
  kibibytes_each: number;
  /** Share of a core that the query service takes while all of them wait and nothing happens. */
  idle_cpu: number;
  /** From an event's time to the end of the answer that tells it, milliseconds. */
  events: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
  answers: number;
}

const SETTLE_MS = 5_000;
const WARM_UP_SECONDS = 3;

export async function measureWaiting(
  { installation, query, quiet, live, tokenOf, say, cleanup }: WaitingSetup,
  { waiters, rate, seconds }: { waiters: number; rate: number; seconds: number },
): Promise<WaitingResult> {
  // Code is compiled and pools are full before memory is compared.
  await follow(query.url, live, tokenOf, () =>
    publishSteadily(installation, live, { rate, seconds: WARM_UP_SECONDS }),
  );
  await sleep(SETTLE_MS);
  const before = await residentMebibytes(query.pid);
  const latest = await startWaiters(query.url, quiet, tokenOf, waiters, cleanup);
  await eventually('all of them wait', () => latest()?.connected === waiters, 120_000);
  await sleep(SETTLE_MS);
  const each = (((await residentMebibytes(query.pid)) - before) * 1_024) / waiters;
  const cpuBefore = await cpuSeconds(query.pid);
  await sleep(SETTLE_MS);
  const idle = ((await cpuSeconds(query.pid)) - cpuBefore) / (SETTLE_MS / 1_000);
  say(`${waiters} wait: ${each.toFixed(1)} KiB each, ${(idle * 100).toFixed(0)} % of a core`);

  const { ages, answers } = await follow(query.url, live, tokenOf, () =>
    publishSteadily(installation, live, { rate, seconds }),
  );
  const wrong = latest()?.wrong ?? [];
  if (wrong.length > 0) throw new Error(`of those who wait ${wrong.length} failed: ${wrong[0]}`);
  const sorted = ages.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return {
    waiters,
    kibibytes_each: rounded(each, 1),
    idle_cpu: rounded(idle, 2),
    events: sorted.length,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    max_ms: percentile(1),
    answers,
  };
}

/** One client follows each live store meanwhile, in a process that does nothing else. */
async function follow(
  url: string,
  live: readonly LiveStore[],
  tokenOf: (storeId: string) => string,
  meanwhile: () => Promise<void>,
): Promise<{ ages: number[]; answers: number }> {
  const ages: number[] = [];
  let answers = 0;
  const caughtUp = new Set<number>();
  const child = fork(new URL('./followers.ts', import.meta.url));
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('those who follow are gone')));
  gone.catch(() => undefined);
  child.on('message', ({ follower, ids, at, hasCaughtUp }: FollowersReport) => {
    answers += 1;
    if (hasCaughtUp) caughtUp.add(follower);
    const waiting = live[follower]?.waiting;
    for (const id of ids) {
      const time = waiting?.get(id);
      if (time === undefined) continue;
      waiting?.delete(id);
      ages.push(at - time);
    }
  });
  const order: FollowersOrder = { url, tokens: live.map(({ storeId }) => tokenOf(storeId)) };
  child.send(order);
  const published = async () => {
    await eventually('they have caught up', () => caughtUp.size === live.length, 60_000);
    answers = 0;
    await meanwhile();
    await eventually('all changes are told', () => live.every(({ waiting }) => waiting.size === 0), 60_000);
  };
  try {
    await Promise.race([published(), gone]);
  } finally {
    child.kill();
  }
  return { ages, answers };
}

/** @returns what they reported last. */
async function startWaiters(
  url: string,
  quiet: readonly string[],
  tokenOf: (storeId: string) => string,
  waiters: number,
  cleanup: AsyncDisposableStack,
): Promise<() => WaitersReport | null> {
  const child = fork(new URL('./waiters.ts', import.meta.url));
  cleanup.defer(() => void child.kill());
  let latest: WaitersReport | null = null;
  child.on('message', (report: WaitersReport) => {
    latest = report;
  });
  const { hostname: host, port } = new URL(url);
  const order: WaitersOrder = {
    host,
    port: Number(port),
    requests: Array.from({ length: waiters }, (_, index) => {
      const token = tokenOf(quiet[index % quiet.length] ?? '');
      return `GET /api/order/changes?wait=30 HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    }),
  };
  child.send(order);
  return () => latest;
}
