/**
 * Alarm drills: a Prometheus scrapes real services and evaluates our rules in a shorter time.
 * Something happens, its alerts fire; an operator does what their runbook (docs/operations.md)
 * says, and none fires any more.
 */
import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { lastLines } from '#test/service-process.ts';
import { findPrometheus } from '../deploy/prometheus/tools.ts';
import { DRILLS } from './alerts/drills.ts';
import { repeat, startWatched, type Watched } from './alerts/watched.ts';
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

  /** Waits until the alerts are as wanted. Says at a failure which there are. */
  async function untilAlerts(
    what: string,
    are: (alerts: Awaited<ReturnType<Watched['prometheus']['alerts']>>) => boolean,
    limitMs: number,
  ): Promise<void> {
    let last = '';
    const check = async () => {
      const alerts = await watched.prometheus.alerts();
      last = [...alerts.firing, ...alerts.pending].join(', ');
      return are(alerts);
    };
    await eventually(what, check, limitMs).catch((error: unknown) => {
      throw new Error(`${String(error)}; but: ${last}`);
    });
  }

  /** @returns when the last alert ended. */
  async function untilQuiet(): Promise<number> {
    let quietAt = Infinity;
    await untilAlerts(
      'no alert fires',
      ({ firing, pending }) => {
        const now = performance.now();
        quietAt = firing.size + pending.size > 0 ? Infinity : Math.min(quietAt, now);
        return now - quietAt > QUIET_MS;
      },
      ENDS_MS,
    );
    return quietAt;
  }

  /** Publishes and requests in the background while something else is done. */
  async function meanwhile<T>(
    { orders, requests }: Record<'orders' | 'requests', { count: number; everyMs: number }>,
    act: () => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const running = [
      repeat(() => watched.orders(orders.count), orders.everyMs, over.signal),
      repeat(() => watched.requests(requests.count), requests.everyMs, over.signal),
    ];
    try {
      return await act();
    } finally {
      over.abort();
      await Promise.all(running);
    }
  }

  it.each(DRILLS.map((drill) => [drill.name, drill] as const))('%s', async (name, drill) => {
    const { alerts, cause, orders = 0, requests = 0 } = drill;
    let remedy: () => Promise<unknown> = async () => undefined;
    try {
      await untilQuiet();
      remedy = await cause(watched);
      const began = performance.now();
      const light = {
        orders: { count: Math.min(1, orders), everyMs: 1_000 / (orders || 1) },
        requests: { count: Math.min(1, requests), everyMs: 1_000 / (requests || 1) },
      };
      const fire = () =>
        untilAlerts(
          `${alerts.join(', ')} fire`,
          ({ firing }) => alerts.every((alert) => firing.has(alert)),
          FIRES_MS,
        );
      await meanwhile(light, fire);
      const fired = ((performance.now() - began) / 1_000).toFixed(1);
      await remedy();
      const remedied = performance.now();
      await watched.works();
      // What happened may be a small part of what a busy installation does.
      const ordinary = {
        orders: { count: 50, everyMs: 50 },
        requests: { count: 20, everyMs: 50 },
      };
      const endedMs = (await meanwhile(ordinary, untilQuiet)) - remedied;
      note(`alarm: ${name}: fires after ${fired} s`, [endedMs], ENDS_MS);
    } catch (error) {
      const story = lastLines([watched.projector, watched.query]);
      // The next drill does not fail for what this one has left.
      for (const mend of [remedy, watched.recover]) await mend().catch(() => undefined);
      throw new Error(`${String(error)}\n${story}`, { cause: error });
    }
  });
});
