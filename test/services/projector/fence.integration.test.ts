import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { type LogLine, startService, type ServiceProcess } from '#test/service-process.ts';
import type { StreamEvent } from '#test/streams.ts';

/** Each is several dozens of slices. */
const ORDERS = 1_600;

const order = { order_type: 'delivery', total: '10.00', created_at: '2026-03-01T12:00:00Z' };

function orders(count: number, sequence: number, status: string): StreamEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    entity: 'order',
    storeId: `s${index % 5}`,
    subject: `o${index}`,
    sequence,
    data: { ...order, status },
  }));
}

const applies = (service: ServiceProcess) =>
  service.logged(
    ({ msg, topic }) => msg === 'partition is applied' && String(topic).startsWith('store-changes.'),
  );

describe('two projectors', () => {
  let installation: Installation;
  const services: ServiceProcess[] = [];
  const start = () => {
    const service = startService('projector', { ...installation.env, PROJECTOR_SLICE_EVENTS: '25' });
    services.push(service);
    return service;
  };

  beforeAll(async () => {
    installation = await createInstallation({
      partitions: 2,
      settings: { KAFKA_SESSION_TIMEOUT_MS: '1000' },
    });
  });
  afterAll(async () => {
    for (const service of services) service.kill('SIGKILL');
    await Promise.all(services.map(({ ended }) => ended));
    await installation?.close();
  });

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

    const { orders: documents = [], stamps = [] } = await dump(await readModels(installation));
    expect(documents).toHaveLength(ORDERS);
    const statuses = documents.map(
      (document) => (document as { summary: { status: string } }).summary.status,
    );
    expect(new Set(statuses)).toEqual(new Set(['ready']));
    const applied = stamps.map((stamp) =>
      typeof stamp === 'object' && stamp !== null && 'order' in stamp ? Number(stamp.order) : 0,
    );
    expect(applied.reduce((sum, count) => sum + count, 0)).toBe(2.5 * ORDERS);
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
    const { stamps = [] } = await dump(await readModels(installation));
    const applied = stamps.map((stamp) =>
      typeof stamp === 'object' && stamp !== null && 'order' in stamp ? Number(stamp.order) : 0,
    );
    expect(applied.reduce((sum, count) => sum + count, 0)).toBe(5.5 * ORDERS);
    const assignments = (staying?.lines ?? []).filter(isAssignment);
    expect(assignments.at(-1)).toMatchObject({ partitions: [0, 1] });
    expect(assignments.flatMap(({ kept }) => kept)).not.toEqual([]);
  });
});

function isAssignment({ msg, topic }: LogLine): boolean {
  return msg === 'partitions are assigned' && String(topic).startsWith('store-changes.');
}
