/** Live events beside rewriting: one store's orders change at a steady rate, while a large store waits, and while it is rewritten. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { type Rewriting, rewritingId } from '#shared/projection/rewriting/queue.ts';
import { REWRITINGS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { rounded } from '../median.ts';
import { cpuSeconds } from '../process-figures.ts';
import { orderRecord } from '../query/stores/order.ts';
import type { Say } from '../say.ts';
import { type Counts, readCounts } from './metrics.ts';

export interface Live {
  events_per_second: number;
  /** From an event's time to its commit. */
  mean_ms: number;
  /** Shares of the events. */
  within_100_ms: number;
  within_250_ms: number;
  /** Transactions that failed and were tried again. */
  failures: number;
}

export interface LiveResult {
  alone: Live;
  beside: Live;
  /** Bodies a second beside live events, and without any. */
  beside_per_second: number;
  alone_per_second: number;
  /** Milliseconds of the projector's processor time for one body. */
  cpu_ms: number;
}

export interface LiveOptions {
  installation: Installation;
  db: Db;
  /** The projector's operations port, and its process. */
  projector: { url: string; pid: number };
  /** Events a second. */
  rate: number;
  seconds: number;
  rounds: number;
  say: Say;
}

const STEP_MS = 50;
const ORDERS = 500;
const FOREVER = new Date(8.64e15);

/** @param large the store that has moved, and has enough records for all rounds. */
export async function measureLive(options: LiveOptions, large: string): Promise<LiveResult> {
  const { db, projector, seconds, rounds, say } = options;
  const queue = db.collection<Rewriting>(REWRITINGS);
  const hold = (until: Date) =>
    queue.updateOne(
      { _id: rewritingId(large, 'offset') },
      { $set: { owner: 'benchmark', held_until: until } },
    );
  const rewrites = async () => {
    await hold(new Date(0));
    const { rewritten: before } = await readCounts(projector.url);
    await until(async () => (await readCounts(projector.url)).rewritten > before);
  };
  const [alone, beside]: [Counts[], Counts[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    await hold(FOREVER);
    alone.push(await observe(options));
    await rewrites();
    beside.push(await observe(options));
    say(`round ${round + 1}: ${meanOf(alone)} ms in the mean, beside rewriting ${meanOf(beside)} ms`);
  }
  const rewritten = sum(beside, 'rewritten');
  // After that nobody is busy any longer.
  await hold(FOREVER);
  await sleep(1_500);
  await rewrites();
  const [from, cpu, began] = [
    await readCounts(projector.url),
    await cpuSeconds(projector.pid),
    performance.now(),
  ];
  await sleep(seconds * 1_000);
  const [to, cpuNow] = [await readCounts(projector.url), await cpuSeconds(projector.pid)];
  const bodies = to.rewritten - from.rewritten;
  if (to.left === 0) throw new Error('everything was rewritten before the end: take more orders');
  return {
    alone: liveOf(alone, seconds),
    beside: liveOf(beside, seconds),
    beside_per_second: rounded(rewritten / (seconds * rounds), 0),
    alone_per_second: rounded(bodies / ((performance.now() - began) / 1_000), 0),
    cpu_ms: rounded(((cpuNow - cpu) * 1_000) / bodies, 3),
  };
}

/** Waits for something that a benchmark waits for. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await sleep(STEP_MS);
}

/** Changes orders for a while. @returns what was counted meanwhile. */
async function observe({ installation, projector, rate, seconds }: LiveOptions): Promise<Counts> {
  const before = await readCounts(projector.url);
  const began = performance.now();
  let sent = 0;
  while (performance.now() < began + seconds * 1_000) {
    const due = Math.floor(((performance.now() - began) / 1_000) * rate);
    const events = Array.from({ length: due - sent }, (_, index) => {
      const { entity, id, state } = orderRecord((sent + index) % ORDERS, ORDERS);
      return { entity, storeId: 'live', subject: id, sequence: Date.now(), data: state };
    });
    if (events.length > 0) await installation.publish(events);
    sent = due;
    await sleep(STEP_MS);
  }
  await caughtUp(installation);
  const after = await readCounts(projector.url);
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Counts]]),
  ) as unknown as Counts;
}

function liveOf(counts: readonly Counts[], seconds: number): Live {
  const events = sum(counts, 'events');
  return {
    events_per_second: rounded(events / (seconds * counts.length), 0),
    mean_ms: meanOf(counts),
    within_100_ms: rounded(sum(counts, 'within100') / events, 4),
    within_250_ms: rounded(sum(counts, 'within250') / events, 4),
    failures: sum(counts, 'failures'),
  };
}

function meanOf(counts: readonly Counts[]): number {
  return rounded((sum(counts, 'seconds') / sum(counts, 'events')) * 1_000, 1);
}

function sum(counts: readonly Counts[], figure: keyof Counts): number {
  return counts.reduce((total, one) => total + one[figure], 0);
}
