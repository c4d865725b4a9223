import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp, dump, erased, readModels } from '#test/read-models.ts';
import { startKilledProjector, type ServiceProcess } from '#test/service-process.ts';
import type { StreamEvent } from '#test/streams.ts';
import { runCommand } from '../../../services/admin/run-command.ts';

const ORDERS = 450;
const REVIEWS = 100;
/** Pieces have a hundred documents while events come, and twice as many else: so it dies in the midst of several. */
const TRANSACTIONS = 6;
const TIME = new Date('2026-03-01T12:00:00Z');

describe('a projector that is killed while it erases', () => {
  let installation: Installation;
  let killed = '';
  let calm = '';
  let sequence = 0;
  const services: ServiceProcess[] = [];
  const projectors: RunningProjector[] = [];
  beforeAll(async () => {
    installation = await createInstallation({
      environments: 2,
      partitions: 2,
      settings: { KAFKA_SESSION_TIMEOUT_MS: '1000', PROJECTOR_REWRITING_SHARE: '100' },
    });
    [killed = '', calm = ''] = installation.config.environments;
  });
  afterAll(async () => {
    for (const service of services) service.kill('SIGKILL');
    await Promise.all(services.map(({ ended }) => ended));
    await Promise.all(projectors.map((projector) => projector.stop()));
    await installation?.close();
  });

  const event = (entity: string, subject: string, data: object | null, storeId = 's1'): StreamEvent => {
    sequence += 1;
    const action = data === null ? ('deleted' as const) : ('changed' as const);
    return { entity, storeId, subject, sequence, action, time: TIME, ...(data === null ? {} : { data }) };
  };
  const order = (id: string, index: number, storeId = 's1') =>
    event(
      'order',
      id,
      {
        status: 'ready',
        order_type: 'delivery',
        total: '1.00',
        customer: { id: 'c1', name: 'Maria', phone: '11 9' },
        created_at: new Date(TIME.getTime() + index * 1_000).toISOString(),
      },
      storeId,
    );
  const customer = () => event('customer', 'c1', { name: 'Maria', created_at: TIME.toISOString() });
  const publish = async (events: StreamEvent[]) => {
    await installation.publish(events, killed);
    await installation.publish(events, calm);
  };

  it('erases everything in the end, and nothing that came later', async () => {
    await publish([
      customer(),
      ...Array.from({ length: ORDERS }, (_, index) => order(`o${index}`, index)),
      ...Array.from({ length: REVIEWS }, (_, index) =>
        event('review', `r${index}`, {
          rating: 5,
          customer_id: 'c1',
          customer_name: 'Maria',
          created_at: TIME.toISOString(),
        }),
      ),
      event('customer', 'c1', null),
    ]);
    let kills = 0;
    for (let round = 0; ; round += 1) {
      // Of the same store, of the same customer who is back, and of another store.
      await publish([customer(), order(`new${round}`, ORDERS + round), order(`o${round}`, round, 's2')]);
      const service = startKilledProjector({ ...installation.env, ENVIRONMENTS: killed }, TRANSACTIONS);
      services.push(service);
      const outcome = await Promise.race([
        service.ended,
        (async () => {
          await caughtUp(installation, killed);
          await erased(installation, killed);
          return 'erased';
        })(),
      ]);
      if (outcome === 'erased') break;
      expect(outcome).toEqual({ code: null, signal: 'SIGKILL' });
      kills += 1;
    }
    expect(kills).toBeGreaterThan(1);

    const projector = await startProjector(
      readConfig({ ...installation.env, ENVIRONMENTS: calm }),
      createLogger('test', 'silent'),
    );
    projectors.push(projector);
    await caughtUp(installation, calm);
    await erased(installation, calm);
    const db = await readModels(installation, killed);
    const [left, expected] = [await dump(db), await dump(await readModels(installation, calm))];
    for (const name of Object.keys(expected)) expect(left[name], name).toEqual(expected[name]);
    const named = await db.collection<OrderDocument>(COLLECTIONS.order).countDocuments({ whole: /Maria/ });
    expect(named).toBe(2 * (kills + 1));
    const verified = await runCommand(installation.env, ['verify', '--deep', '-e', killed]);
    expect(verified.stdout + verified.stderr).toMatch(/all is right/);
  });
});
