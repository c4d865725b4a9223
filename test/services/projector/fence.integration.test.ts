import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { killAll, type LogLine, startService, type ServiceProcess } from '#test/service-process.ts';

/** Each is several dozens of slices. */
const ORDERS = 1_600;

const orders = (count: number, sequence: number, status: string) =>
  Array.from({ length: count }, (_, index) =>
    orderEvent(`o${index}`, { storeId: `s${index % 5}`, sequence, data: { status } }),
  );

const applies = (service: ServiceProcess) =>
  service.logged(({ msg, topic }) => msg === 'partition is applied' && String(topic).startsWith('store-changes.'));

describe('two projectors', () => {
  let installation: Installation;
  const services: ServiceProcess[] = [];
  const start = () => {
    const service = startService('projector', { ...installation.env, PROJECTOR_SLICE_EVENTS: '25' });
    services.push(service);
    return service;
  };

  beforeAll(async () => {
    const settings = { KAFKA_SESSION_TIMEOUT_MS: '1000' };
    installation = await createInstallation({ partitions: 2, settings });
  });
  afterAll(async () => {
    await killAll(services);
    await installation?.close();
  });

  /** How many events of orders took effect. */
  const appliedOrders = async () => {
    const stamps = (await readModels(installation)).collection<Stamp>(STAMPS);
    return (await stamps.find().toArray()).reduce((sum, { order = 0 }) => sum + order, 0);
  };

  it('apply every event once when one is frozen for longer than its session lasts, and comes back', async () => {
    const frozen = start();
    await installation.publish(orders(ORDERS, 1, 'pending'));
    await applies(frozen);
    frozen.kill('SIGSTOP');

    const successor = start();
    await applies(successor);
    await installation.publish(orders(ORDERS / 2, 2, 'confirmed'));
    frozen.kill('SIGCONT');
    await installation.publish(orders(ORDERS, 3, 'ready'));
    await caughtUp(installation);
    await eventually(
      'both belong to the group again',
      () => frozen.process.exitCode === null && successor.process.exitCode === null,
    );

    const { orders: documents = [] } = await dump(await readModels(installation));
    expect(documents).toHaveLength(ORDERS);
    const statuses = documents.map((document) => (document as { summary: { status: string } }).summary.status);
    expect(new Set(statuses)).toEqual(new Set(['ready']));
    expect(await appliedOrders()).toBe(2.5 * ORDERS);
  });

  it('keep their partitions when others join, and hand them on when they leave', async () => {
    const [leaving, staying] = services;
    const joining = start();
    await joining.logged(({ msg }) => msg === 'projector started');
    await installation.publish(orders(ORDERS, 4, 'dispatched'));
    await caughtUp(installation);
    leaving?.kill('SIGTERM');
    expect((await leaving?.ended)?.code).toBe(0);
    await installation.publish(orders(ORDERS, 5, 'ready'));
    await applies(joining);
    joining.kill('SIGTERM');
    expect((await joining.ended).code).toBe(0);
    await installation.publish(orders(ORDERS, 6, 'delivered'));
    await caughtUp(installation);
    expect(await appliedOrders()).toBe(5.5 * ORDERS);
    const assignments = (staying?.lines ?? []).filter(isAssignment);
    expect(assignments.at(-1)).toMatchObject({ partitions: [0, 1] });
    expect(assignments.flatMap(({ kept }) => kept)).not.toEqual([]);
  });
});

function isAssignment({ msg, topic }: LogLine): boolean {
  return msg === 'partitions are assigned' && String(topic).startsWith('store-changes.');
}
