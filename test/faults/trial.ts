/**
 * Disturbs the projectors of one environment while events flow. Then compares its read models with
 * those that an undisturbed projector made of the same events in another environment.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { pause } from '#shared/waiting.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { KILL_IN_TRANSACTION } from '#test/killed-in-transaction.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { lastLines, type ServiceProcess, startService } from '#test/service-process.ts';
import { succeeds } from '#test/succeeds.ts';
import { times } from '#test/times.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { eventAt } from './load.ts';
import { note } from './results.ts';
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

/** How soon events are applied again after a fault. */
export interface Recovery {
  fault: string;
  recoveriesMs: number[];
  boundMs: number;
}

export type Trial = Awaited<ReturnType<typeof startTrial>>;

const KILLED_PROJECTOR = new URL('killed-projector.ts', import.meta.url).pathname;
/** For a busy machine. */
const CAUGHT_UP_LIMIT_MS = 240_000;
/** Far above any bound, so that a missed bound still yields a figure. */
const ADVANCE_LIMIT_MS = 45_000;

/** Makes the installation and starts publishing. */
export async function startTrial(options: TrialOptions = {}) {
  const { partitions = 3, settings, disturbedSettings, eventsPerSecond = 200, stores } = options;
  const installation = await createInstallation({
    environments: 2,
    partitions,
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
      PROJECTOR_SLICE_EVENTS: '100',
      ...settings,
    },
  });
  const [disturbed = '', undisturbed = ''] = installation.config.environments;
  const services: ServiceProcess[] = [];
  const slowness = watchSlowness();
  const flow = publishFlow(installation, eventsPerSecond, stores);
  const env = { ...installation.env, ENVIRONMENTS: disturbed, ...disturbedSettings };
  const noted = (service: ServiceProcess) => {
    services.push(service);
    return service;
  };
  // A killed projector leaves open transactions, and MongoDB cannot drop such a database for a
  // minute.
  const end = async () => {
    for (const service of services) {
      service.kill('SIGCONT');
      service.kill('SIGTERM');
    }
    await Promise.all(services.map(({ ended }) => ended));
  };
  /** The positions of the partitions' checkpoints; 0 for a missing one. */
  const positions = async () => {
    const db = await readModels(installation, disturbed);
    const topic = changesTopic(disturbed);
    const stored = await db.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
    return times(partitions, (at) => stored.find((one) => one.partition === at)?.position ?? 0);
  };
  return {
    installation,
    /** The environment with the disturbed projectors. */
    disturbed,
    start: (own: Record<string, string> = {}) =>
      noted(startService('projector', { ...env, ...own })),
    /** Starts a projector that kills itself before it commits its n-th transaction. */
    startKilled(transaction: number): ServiceProcess {
      const settings = { ...env, [KILL_IN_TRANSACTION]: String(transaction) };
      return noted(startService('projector', settings, 'info', KILLED_PROJECTOR));
    },
    /**
     * Waits until each of the first partitions (all by default) advances.
     * @returns the milliseconds.
     */
    async untilAdvanced(count = partitions) {
      const began = performance.now();
      let from: number[] | null = null;
      const haveAdvanced = async () => {
        // The database itself may be down.
        const now = await positions().catch(() => null);
        from ??= now;
        return from?.slice(0, count).every((position, at) => (now?.[at] ?? 0) > position) === true;
      };
      try {
        await eventually('every partition advances', haveAdvanced, ADVANCE_LIMIT_MS);
      } catch (error) {
        const story = `from ${String(from)}\n${lastLines(services.slice(-3))}`;
        throw new Error(`${String(error)}, ${story}`, { cause: error });
      }
      return performance.now() - began;
    },
    positions,
    /**
     * Stops publishing, waits until everything is applied, and compares documents, counts, stamps,
     * trees, versions, and the log. Notes the figures and asserts their bounds, which are longer on
     * a busy machine.
     */
    async conclude(recoveries: Recovery[]) {
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
      const left = await dump(await readModels(installation, disturbed));
      const expected = await dump(await readModels(installation, undisturbed));
      expect(expected['orders']?.length).toBeGreaterThan(50);
      for (const name of Object.keys(expected)) expect(left[name], name).toEqual(expected[name]);
      const verified = await runCommand(installation.env, ['verify', '--deep', '-e', disturbed]);
      expect(verified.stdout + verified.stderr).toMatch(/no differences/);
      for (const { fault, recoveriesMs, boundMs } of recoveries)
        note(fault, recoveriesMs, boundMs * slower, events);
      for (const { fault, recoveriesMs, boundMs } of recoveries)
        expect(Math.max(...recoveriesMs), fault).toBeLessThan(boundMs * slower);
    },
    async close() {
      slowness();
      await flow.end().catch(() => undefined);
      await end();
      await installation.close();
    },
  };
}

/** Publishes the same events to both environments until `end`, which returns their number. */
function publishFlow({ config, publish }: Installation, perSecond: number, stores?: number) {
  const batch = Math.ceil(perSecond / 10);
  const over = new AbortController();
  let published = 0;
  const flowing = (async () => {
    do {
      const events = times(batch, (index) => eventAt(published + index, stores));
      // A source that loses its broker retries, and publishes some events twice.
      for (const environment of config.environments)
        while (!(await succeeds(publish(events, environment)))) await sleep(100);
      published += batch;
    } while (await pause(100, over.signal));
    return published;
  })();
  return {
    end: () => {
      over.abort();
      return flowing;
    },
  };
}
