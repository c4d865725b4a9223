/**
 * Alarm drills: a Prometheus scrapes real services and evaluates our rules in a shorter time.
 * Something happens, its alerts fire; an operator does what their runbook (docs/operations.md)
 * says, and none fires any more.
 */
import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { findPrometheus } from '../deploy/prometheus/tools.ts';
import { DRILLS } from './alerts/drills.ts';
import { repeat, startWatched } from './alerts/watched.ts';
import { note } from './results.ts';

const program = await findPrometheus();

/** For a busy machine. */
const FIRES_MS = 180_000;
/**
 * The slow burn rates look at three minutes, so long as ordinary traffic does not outweigh what
 * failed.
 */
const ENDS_MS = 360_000;
/** An alert may be between two evaluations. */
const QUIET_MS = 3_000;

describe.skipIf(program === null)('an alarm', () => {
  const watched = useMade(() => startWatched(program ?? ''));

  async function untilQuiet(since: number): Promise<number> {
    let quietAt: number | null = null;
    let last: string[] = [];
    const isQuiet = async () => {
      const { firing, pending } = await watched.prometheus.alerts();
      last = [...firing, ...pending];
      quietAt = last.length > 0 ? null : (quietAt ?? performance.now());
      return quietAt !== null && performance.now() - quietAt > QUIET_MS;
    };
    await eventually('no alert fires', isQuiet, ENDS_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}; but: ${last.join(', ')}`);
    });
    return (quietAt ?? 0) - since;
  }

  async function untilFiring(wanted: readonly string[]): Promise<void> {
    let last: string[] = [];
    const areFiring = async () => {
      const { firing } = await watched.prometheus.alerts();
      last = [...firing];
      return wanted.every((name) => firing.has(name));
    };
    await eventually(`${wanted.join(', ')} fire`, areFiring, FIRES_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}; but: ${last.join(', ')}`);
    });
  }

  /** Work in the background while something else is done. */
  async function meanwhile<T>(
    works: [() => Promise<unknown>, everyMs: number][],
    act: () => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const running = works.map(([work, everyMs]) => repeat(work, everyMs, over.signal));
    try {
      return await act();
    } finally {
      over.abort();
      await Promise.all(running);
    }
  }

  it.each(DRILLS.map((drill) => [drill.name, drill] as const))('%s', async (name, drill) => {
    const { alerts, cause, orders = 0, requests = 0 } = drill;
    const { projector, query } = watched;
    let remedy: () => Promise<unknown> = async () => undefined;
    try {
      await untilQuiet(0);
      remedy = await cause(watched);
      const light = [orders, requests].map((count, index): [() => Promise<unknown>, number] => {
        const work = index === 0 ? () => watched.orders(1) : () => watched.requests(1);
        return [work, 1_000 / count];
      });
      const began = performance.now();
      await meanwhile(
        light.filter(([, everyMs]) => Number.isFinite(everyMs)),
        () => untilFiring(alerts),
      );
      const fired = performance.now() - began;
      await remedy();
      const remedied = performance.now();
      await watched.works();
      // What happened may be a small part of what a busy installation does.
      const ordinary: [() => Promise<unknown>, number][] = [
        [() => watched.orders(50), 50],
        [() => watched.requests(20), 50],
      ];
      const ended = await meanwhile(ordinary, () => untilQuiet(remedied));
      note({
        fault: `alarm: ${name}: fires after ${(fired / 1_000).toFixed(1)} s`,
        recoveriesMs: [ended],
        boundMs: ENDS_MS,
        events: 0,
      });
    } catch (error) {
      const story = [projector, query].flatMap((one) =>
        one
          .lines()
          .slice(-10)
          .map((line) => JSON.stringify(line)),
      );
      // The next drill does not fail for what this one has left.
      for (const mend of [remedy, watched.recover]) await mend().catch(() => undefined);
      throw new Error(`${String(error)}\n${story.join('\n')}`, { cause: error });
    }
  });
});
