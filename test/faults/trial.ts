/**
 * A trial: projectors of one environment are disturbed while events flow, and in the end everything is compared with
 * what an undisturbed projector made of the same events in another environment.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { startKilledProjector, startService, type ServiceProcess } from '#test/service-process.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { eventAt } from './load.ts';
import { note, type Result } from './results.ts';
import { watchSlowness } from './slowness.ts';

/** What the brokers of the tests allow; the recovery after a kill follows from it. */
export const SESSION_TIMEOUT_MS = 1_500;

export interface TrialOptions {
  partitions?: number;
  /** Settings of everything, such as addresses of servers of the test's own. */
  settings?: Record<string, string>;
  /** Settings of the disturbed projectors alone, such as addresses of proxies. */
  disturbedSettings?: Record<string, string>;
  eventsPerSecond?: number;
  /** How many stores the events are of. */
  stores?: number;
}

export interface Trial {
  installation: Installation;
  /** The environment whose projectors are disturbed. */
  disturbed: string;
  /** Starts a projector that is to be disturbed. */
  start: (settings?: Record<string, string>) => ServiceProcess;
  /** The same, and it kills itself when it is about to commit its n-th transaction. */
  startKilled: (transaction: number) => ServiceProcess;
  /** Waits until each of the first partitions (all by default) has moved on from where it is now; answers in how many milliseconds. */
  movesOn: (partitions?: number) => Promise<number>;
  /** Where the checkpoints of the partitions stand; 0 where there is none yet. */
  positions: () => Promise<number[]>;
  /**
   * Ends the flow, lets everything be applied, and compares: documents, counts, stamps, trees, versions, and with the
   * log itself. Notes the figures and checks them against their bounds, which are longer on a busy machine.
   */
  conclude: (results: Omit<Result, 'events'>[], options?: Comparison) => Promise<void>;
  close: () => Promise<void>;
}

export interface Comparison {
  /**
   * Stores have moved between partitions, so that older events came behind newer ones: then a stamp moves less often.
   */
  storesMoved?: true;
}

/** Makes the installation and lets events flow. */
export async function startTrial(options: TrialOptions = {}): Promise<Trial> {
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
  const flow = letFlow(installation, options.eventsPerSecond ?? 200, options.stores);
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
    disturbed,
    start: (settings) => noted(startService('projector', { ...env, ...settings })),
    startKilled: (transaction) => noted(startKilledProjector(env, transaction)),
    movesOn: (count = partitions) =>
      movesOn(installation, disturbed, count).catch((error: unknown) => {
        const last = services.slice(-3).map(({ lines }) => lines.slice(-10).map((line) => JSON.stringify(line)));
        throw new Error([String(error), ...last.map((lines) => lines.join('\n'))].join('\n\n'));
      }),
    positions: () => positions(installation, disturbed, partitions),
    async conclude(results, { storesMoved } = {}) {
      const events = await flow.end();
      const slower = slowness();
      await caughtUp(installation, disturbed, CAUGHT_UP_LIMIT_MS);
      await end();
      const calm = await startSilentProjector(installation, undisturbed, { PROJECTOR_SLICE_EVENTS: '1000' });
      try {
        await caughtUp(installation, undisturbed, CAUGHT_UP_LIMIT_MS);
      } finally {
        await calm.stop();
      }
      const [left, expected] = await Promise.all(
        [disturbed, undisturbed].map(async (name) => dump(await readModels(installation, name))),
      );
      expect(Object.keys(expected?.['orders'] ?? {}).length).toBeGreaterThan(50);
      for (const content of [left, expected]) {
        if (storesMoved && content !== undefined) content[STAMPS] = withoutMoves(content[STAMPS]);
      }
      for (const name of Object.keys(expected ?? {})) expect(left?.[name], name).toEqual(expected?.[name]);
      const verified = await runCommand(installation.env, ['verify', '--deep', '-e', disturbed]);
      expect(verified.stdout + (verified.code === 0 ? '' : verified.stderr)).toMatch(/all is right/);
      const bounded = results.map((result) => ({ ...result, events, boundMs: result.boundMs * slower }));
      for (const result of bounded) note(result);
      for (const { fault, recoveriesMs, boundMs } of bounded) {
        expect(Math.max(...recoveriesMs), fault).toBeLessThan(boundMs);
      }
    },
    async close() {
      slowness();
      await flow.end().catch(() => undefined);
      // One that is killed leaves its transactions behind, and a database with such cannot be dropped for a minute.
      await end();
      await installation.close();
    },
  };
}

/** The counts and offsets of stamps, without how often each kind of record has changed. */
function withoutMoves(stamps: unknown[] = []): unknown[] {
  return stamps.map((stamp) =>
    Object.fromEntries(Object.entries(stamp as Stamp).filter(([, value]) => typeof value !== 'number')),
  );
}

/** Publishes the same events to both environments until it is ended; answers then how many it were. */
function letFlow(installation: Installation, perSecond: number, stores?: number): { end: () => Promise<number> } {
  const batch = Math.ceil(perSecond / 10);
  const over = new AbortController();
  let published = 0;
  const flowing = (async () => {
    while (!over.signal.aborted) {
      const events = Array.from({ length: batch }, (_, index) => eventAt(published + index, stores));
      for (const environment of installation.config.environments) {
        // A source whose broker is lost tries again, and publishes some of them twice.
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

/** Machines are busy. */
const CAUGHT_UP_LIMIT_MS = 240_000;
/** Far longer than anything may take, so that the figure is seen where a bound is missed. */
const MOVES_ON_LIMIT_MS = 45_000;

async function movesOn(installation: Installation, environment: string, count: number): Promise<number> {
  const began = performance.now();
  let from: number[] | null = null;
  for (;;) {
    // The database may be what is broken.
    const now = await positions(installation, environment, count).catch(() => null);
    const waited = performance.now() - began;
    if (from !== null && now !== null && from.every((position, index) => (now[index] ?? 0) > position)) {
      return waited;
    }
    from ??= now;
    if (waited > MOVES_ON_LIMIT_MS) {
      throw new Error(`not applied within ${MOVES_ON_LIMIT_MS} ms: from ${from?.join()} to ${now?.join()}`);
    }
    await sleep(10);
  }
}

/** Where the partitions' checkpoints stand; 0 where there is none yet. */
async function positions(installation: Installation, environment: string, count: number): Promise<number[]> {
  const topic = changesTopic(environment);
  const db = await readModels(installation, environment).catch(() => null);
  const stored = await db?.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
  const found = new Map(stored?.map(({ partition, position }) => [partition, position]));
  return Array.from({ length: count }, (_, partition) => found.get(partition) ?? 0);
}
