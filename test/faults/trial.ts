/**
 * Disturbs the projectors of one environment while events flow. Then compares its read models with
 * those that an undisturbed projector made of the same events in another environment.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { startKilledProjector, startService, type ServiceProcess } from '#test/service-process.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { eventAt } from './load.ts';
import { note, type Result } from './results.ts';
import { watchSlowness } from './slowness.ts';

/**
 * The shortest session timeout that the test brokers allow. It determines the recovery time after a
 * kill.
 */
export const SESSION_TIMEOUT_MS = 1_500;

export interface TrialOptions {
  partitions?: number;
  /** Settings of all processes, such as server addresses. */
  settings?: Record<string, string>;
  /** Settings of the disturbed projectors only, such as proxy addresses. */
  disturbedSettings?: Record<string, string>;
  eventsPerSecond?: number;
  stores?: number;
}

export type Trial = Awaited<ReturnType<typeof startTrial>>;

/** Makes the installation and starts publishing. */
export async function startTrial(options: TrialOptions = {}) {
  const partitions = options.partitions ?? 3;
  const installation = await createInstallation({
    environments: 2,
    partitions,
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
      PROJECTOR_SLICE_EVENTS: '100',
      ...options.settings,
    },
  });
  const [disturbed = '', undisturbed = ''] = installation.config.environments;
  const services: ServiceProcess[] = [];
  const slowness = watchSlowness();
  const flow = publishFlow(installation, options.eventsPerSecond ?? 200, options.stores);
  const env = { ...installation.env, ENVIRONMENTS: disturbed, ...options.disturbedSettings };
  const noted = (service: ServiceProcess) => {
    services.push(service);
    return service;
  };
  const end = async () => {
    for (const service of services) {
      service.kill('SIGCONT');
      service.kill('SIGTERM');
    }
    await Promise.all(services.map(({ ended }) => ended));
  };
  return {
    installation,
    /** The environment with the disturbed projectors. */
    disturbed,
    start: (settings: Record<string, string> = {}) =>
      noted(startService('projector', { ...env, ...settings })),
    /** Starts a projector that kills itself before it commits its n-th transaction. */
    startKilled: (transaction: number) => noted(startKilledProjector(env, transaction)),
    /**
     * Waits until each of the first partitions (all by default) advances.
     * @returns the milliseconds.
     */
    untilAdvanced: (count = partitions) =>
      untilAdvanced(installation, disturbed, count).catch((error: unknown) => {
        const last = services
          .slice(-3)
          .map(({ lines }) => lines.slice(-10).map((line) => JSON.stringify(line)));
        throw new Error([String(error), ...last.map((lines) => lines.join('\n'))].join('\n\n'));
      }),
    /** The positions of the partitions' checkpoints; 0 for a missing one. */
    positions: () => positions(installation, disturbed, partitions),
    /**
     * Stops publishing, waits until everything is applied, and compares documents, counts, stamps,
     * trees, versions, and the log. Notes the figures and asserts their bounds, which are longer on
     * a busy machine.
     */
    async conclude(results: Omit<Result, 'events'>[]) {
      const events = await flow.end();
      const slower = slowness();
      await caughtUp(installation, disturbed, CAUGHT_UP_LIMIT_MS);
      await end();
      const calm = await startSilentProjector(installation, undisturbed, {
        PROJECTOR_SLICE_EVENTS: '1000',
      });
      try {
        await caughtUp(installation, undisturbed, CAUGHT_UP_LIMIT_MS);
      } finally {
        await calm.stop();
      }
      const [left, expected] = await Promise.all(
        [disturbed, undisturbed].map(async (name) => dump(await readModels(installation, name))),
      );
      expect(Object.keys(expected?.['orders'] ?? {}).length).toBeGreaterThan(50);
      for (const name of Object.keys(expected ?? {}))
        expect(left?.[name], name).toEqual(expected?.[name]);
      const verified = await runCommand(installation.env, ['verify', '--deep', '-e', disturbed]);
      expect(verified.stdout + (verified.code === 0 ? '' : verified.stderr)).toMatch(
        /no differences/,
      );
      const bounded = results.map((result) => ({
        ...result,
        events,
        boundMs: result.boundMs * slower,
      }));
      for (const result of bounded) note(result);
      for (const { fault, recoveriesMs, boundMs } of bounded) {
        expect(Math.max(...recoveriesMs), fault).toBeLessThan(boundMs);
      }
    },
    async close() {
      slowness();
      await flow.end().catch(() => undefined);
      // A killed projector leaves open transactions, and MongoDB cannot drop such a database for a
      // minute.
      await end();
      await installation.close();
    },
  };
}

/** Publishes the same events to both environments until `end`, which returns their number. */
function publishFlow(
  installation: Installation,
  perSecond: number,
  stores?: number,
): { end: () => Promise<number> } {
  const batch = Math.ceil(perSecond / 10);
  const over = new AbortController();
  let published = 0;
  const flowing = (async () => {
    while (!over.signal.aborted) {
      const events = Array.from({ length: batch }, (_, index) =>
        eventAt(published + index, stores),
      );
      for (const environment of installation.config.environments) {
        // A source that loses its broker retries, and publishes some events twice.
        while (
          !(await installation.publish(events, environment).then(
            () => true,
            () => false,
          ))
        ) {
          await sleep(100);
        }
      }
      published += batch;
      await sleep(100);
    }
    return published;
  })();
  return {
    end: () => {
      over.abort();
      return flowing;
    },
  };
}

/** For a busy machine. */
const CAUGHT_UP_LIMIT_MS = 240_000;
/** Far above any bound, so that a missed bound still yields a figure. */
const ADVANCE_LIMIT_MS = 45_000;

async function untilAdvanced(
  installation: Installation,
  environment: string,
  count: number,
): Promise<number> {
  const began = performance.now();
  let from: number[] | null = null;
  for (;;) {
    // The database itself may be down.
    const now = await positions(installation, environment, count).catch(() => null);
    const waited = performance.now() - began;
    if (
      from !== null &&
      now !== null &&
      from.every((position, index) => (now[index] ?? 0) > position)
    ) {
      return waited;
    }
    from ??= now;
    if (waited > ADVANCE_LIMIT_MS) {
      throw new Error(
        `not applied within ${ADVANCE_LIMIT_MS} ms: from ${from?.join()} to ${now?.join()}`,
      );
    }
    await sleep(10);
  }
}

async function positions(
  installation: Installation,
  environment: string,
  count: number,
): Promise<number[]> {
  const topic = changesTopic(environment);
  const db = await readModels(installation, environment).catch(() => null);
  const stored = await db?.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
  const found = new Map(stored?.map(({ partition, position }) => [partition, position]));
  return Array.from({ length: count }, (_, partition) => found.get(partition) ?? 0);
}
