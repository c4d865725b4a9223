/**
 * The cost of thousands of waiting clients, and the freshness of answers to clients of busy stores.
 */
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '#test/installation.ts';
import {
  type Ages,
  agesOf,
  agesSeen,
  type LiveStore,
  publishSteadily,
} from '../freshness/stream.ts';
import type { BenchContext } from '../context.ts';
import { rounded } from '../median.ts';
import { cpuSeconds, residentMebibytes } from '../process-figures.ts';
import { say } from '../say.ts';
import type { WaitersOrder, WaitersReport } from './waiters.ts';

export interface WaitingSetup {
  context: BenchContext;
  query: { pid: number; url: string };
  quiet: readonly string[];
  live: readonly LiveStore[];
  tokenOf: (storeId: string) => string;
}

/** Ages are from an event's time to the end of its answer. */
export interface WaitingResult extends Ages {
  waiters: number;
  /** Memory of the query service per waiting client, including its connection. */
  kibibytes_each: number;
  /** The query service's share of a core while all wait without changes. */
  idle_cpu: number;
  answers: number;
}

const SETTLE_MS = 5_000;
const WARM_UP_SECONDS = 3;

export async function measureWaiting(
  { context, query, quiet, live, tokenOf }: WaitingSetup,
  { waiters, rate, seconds }: { waiters: number; rate: number; seconds: number },
): Promise<WaitingResult> {
  const { installation, cleanup } = context;
  // Compiles code and fills pools before the memory is compared.
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
  if (wrong.length > 0) throw new Error(`${wrong.length} waiting clients failed: ${wrong[0]}`);
  return {
    waiters,
    kibibytes_each: rounded(each, 1),
    idle_cpu: rounded(idle, 2),
    ...agesOf(ages),
    answers,
  };
}

/** Follows each live store with one client meanwhile. */
async function follow(
  url: string,
  live: readonly LiveStore[],
  tokenOf: (storeId: string) => string,
  meanwhile: () => Promise<void>,
): Promise<{ ages: number[]; answers: number }> {
  const ages: number[] = [];
  let answers = 0;
  const caughtUp = new Set<LiveStore>();
  const over = new AbortController();
  const following = live.map(async (store) => {
    const headers = { authorization: `Bearer ${tokenOf(store.storeId)}` };
    for (let query = ''; !over.signal.aborted;) {
      const path = `${url}/api/order/changes?page_size=100${query}`;
      const response = await fetch(path, { headers, signal: over.signal });
      if (response.status !== 200) throw new Error(`changes were answered ${response.status}`);
      const page = (await response.json()) as {
        results: { id: string }[];
        next: string;
        more: boolean;
      };
      answers += 1;
      if (!page.more) caughtUp.add(store);
      ages.push(...agesSeen(store, page.results));
      query = `&wait=30&after=${page.next}`;
    }
  });
  const published = async () => {
    await eventually('they have caught up', () => caughtUp.size === live.length, 60_000);
    answers = 0;
    await meanwhile();
    await eventually(
      'all changes are delivered',
      () => live.every(({ waiting }) => waiting.size === 0),
      60_000,
    );
  };
  try {
    await Promise.race([published(), Promise.all(following)]);
  } finally {
    over.abort();
    await Promise.allSettled(following);
  }
  return { ages, answers };
}

/** @returns a function for the last report. */
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
