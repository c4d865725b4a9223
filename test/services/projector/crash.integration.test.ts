import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, type Installation } from '#test/installation.ts';
import { applyAll } from '#test/projectors.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { startKilledProjector, startService, type ServiceProcess } from '#test/service-process.ts';
import { shopping } from '#test/shopping.ts';
import type { StreamEvent } from '#test/streams.ts';
import { verifyStore } from '#shared/projection/verify/store.ts';

const EVENTS = 4_000;
const ORDERS = 800;
const CUSTOMERS = 270;
const STORES = ['s0', 's1', 's2', 's3', 's4', 's5', 's6'];
const SENT_AT_ONCE = 150;
/** Kills by SIGKILL at a random instant, then between the last write and the commit of these transactions. `test/faults` has fifty. */
const RANDOM_KILLS = 3;
const KILLED_TRANSACTIONS = [1, 2, 4];
/** For one more start that has something to apply. */
const REPEATED = 100;
/** What a killed transaction has locked stays locked for a minute where nobody ends it. */
const LOCKED_MS = 60_000;
/** What the session may last while nobody is there: the broker gives the partitions on only then. */
const SESSION_TIMEOUT_MS = 1_000;

/** Of every event, so that both environments are told the same. */
const TIME = new Date('2026-03-01T12:00:00Z');

describe('a projector that is killed', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation({
      environments: 2,
      partitions: 3,
      settings: { KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS), PROJECTOR_SLICE_EVENTS: '30' },
    });
  });
  afterAll(() => installation?.close());

  it(
    `leaves what an undisturbed one leaves, after ${RANDOM_KILLS + KILLED_TRANSACTIONS.length} kills while ${EVENTS} events flow`,
    { timeout: 480_000 },
    async () => {
      const [disturbed, undisturbed] = installation.config.environments;
      if (disturbed === undefined || undisturbed === undefined)
        throw new Error('two environments are needed');
      const flow = shopping({
        events: EVENTS,
        orders: ORDERS,
        customers: CUSTOMERS,
        stores: STORES,
        time: TIME,
      });
      const run = async (part: StreamEvent[]) => {
        for (let start = 0; start < part.length; start += SENT_AT_ONCE) {
          await installation.publish(part.slice(start, start + SENT_AT_ONCE), disturbed);
          await sleep(20);
        }
      };
      const flowing = run(flow.slice(0, EVENTS / 2));

      const recoveries: number[] = [];
      const env = { ...installation.env, ENVIRONMENTS: disturbed };
      const start = (): ServiceProcess => startService('projector', env);
      const applies = async (service: ServiceProcess) => {
        const { sinceAssignmentMs } = await service.logged(
          ({ msg, topic }) => msg === 'partition is applied' && String(topic).startsWith('store-changes.'),
        );
        recoveries.push(Number(sinceAssignmentMs));
      };
      for (let kill = 0; kill < RANDOM_KILLS; kill += 1) {
        const service = start();
        await applies(service);
        await sleep(Math.random() * 300);
        service.kill('SIGKILL');
        expect(await service.ended).toEqual({ code: null, signal: 'SIGKILL' });
      }
      await flowing;
      // So that there are transactions to die in, however much is applied by now.
      const flowingOn = run(flow.slice(EVENTS / 2));
      for (const transaction of KILLED_TRANSACTIONS) {
        const service = startKilledProjector(env, transaction);
        expect(await service.ended).toEqual({ code: null, signal: 'SIGKILL' });
      }
      await flowingOn;
      const last = start();
      await applies(last);
      await caughtUp(installation, disturbed);
      last.kill('SIGTERM');
      expect(await last.ended).toEqual({ code: 0, signal: null });
      // Said again, it changes nothing.
      await installation.publish(flow.slice(-REPEATED), disturbed);
      const restarted = start();
      await applies(restarted);
      await caughtUp(installation, disturbed);
      restarted.kill('SIGTERM');
      expect(await restarted.ended).toEqual({ code: 0, signal: null });
      // The first and the last one came after nobody, or after one that had stopped in peace.
      const [first = 0, ...afterKills] = recoveries;
      const undisturbedMs = Math.max(first, afterKills.pop() ?? 0);
      const inTheMiddle = afterKills.toSorted((a, b) => a - b)[Math.floor(afterKills.length / 2)];
      expect(inTheMiddle).toBeLessThan(3 * undisturbedMs + 2_000);
      expect(Math.max(...afterKills)).toBeLessThan(LOCKED_MS / 2);

      await installation.publish([...flow, ...flow.slice(-REPEATED)], undisturbed);
      await applyAll(installation, undisturbed);

      const [left, expected] = await Promise.all(
        [disturbed, undisturbed].map(async (environment) =>
          dump(await readModels(installation, environment)),
        ),
      );
      expect(Object.keys(expected?.['orders'] ?? {}).length).toBeGreaterThan(ORDERS * 0.75);
      for (const name of Object.keys(expected ?? {})) expect(left?.[name], name).toEqual(expected?.[name]);
      const db = await readModels(installation, disturbed);
      for (const storeId of STORES) {
        const differences = await installation.mongodb.withSession({ snapshot: true }, (session) =>
          verifyStore(db, session, storeId),
        );
        expect(differences).toEqual([]);
      }
    },
  );
});
