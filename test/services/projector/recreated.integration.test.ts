import { afterAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { createTopics } from '#shared/kafka/topics.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';
import type { StreamEvent } from '#test/streams.ts';

const APPLIED = 100;

function orders(count: number, status: string): StreamEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    entity: 'order',
    storeId: 's1',
    subject: `o${index}`,
    sequence: 1,
    data: { status, order_type: 'delivery', total: '1.00', created_at: '2026-03-01T12:00:00Z' },
  }));
}

describe('a topic made anew beneath a running projector', () => {
  const services: ServiceProcess[] = [];
  const installations: Installation[] = [];
  afterAll(async () => {
    for (const service of services) service.kill('SIGKILL');
    await Promise.all(services.map(({ ended }) => ended));
    for (const installation of installations) await installation.close();
  });

  /** An installation with a projector that has applied so many events. */
  const running = async () => {
    const installation = await createInstallation({
      partitions: 1,
      // A projector that stands still for a moment keeps its partitions.
      settings: { KAFKA_SESSION_TIMEOUT_MS: '30000' },
    });
    installations.push(installation);
    const service = startService('projector', installation.env);
    services.push(service);
    await service.logged(({ msg }) => msg === 'projector started');
    await installation.publish(orders(APPLIED, 'pending'));
    await caughtUp(installation);
    return { installation, service, before: await dump(await readModels(installation)) };
  };
  const makeAnew = async ({ kafka, environment }: Installation) => {
    const admin = kafka.admin();
    const topic = changesTopic(environment);
    await admin.deleteTopics({ topics: [topic] });
    await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(topic));
    await createTopics(admin, [topic], { partitions: 1 });
    await admin.disconnect();
  };
  const stopped = (service: ServiceProcess) =>
    service.logged(({ level, topic }) => level === 60 && String(topic).startsWith('store-changes.'));

  it.each([
    { log: 'shorter', events: 50 },
    { log: 'equally long', events: APPLIED },
    { log: 'longer', events: 150 },
  ])('stops the partition where the new log is $log', async ({ events }) => {
    const { installation, service, before } = await running();
    await makeAnew(installation);
    await installation.publish(orders(events, 'cancelled'));
    const { error } = await stopped(service);
    expect(error).toContain('this is another log than');
    expect(await dump(await readModels(installation))).toEqual(before);
  });

  it('stops the partition where nothing was fetched between the two logs', async () => {
    const { installation, service, before } = await running();
    service.kill('SIGSTOP');
    await makeAnew(installation);
    await installation.publish(orders(150, 'cancelled'));
    service.kill('SIGCONT');
    const { error } = await stopped(service);
    expect(error).toContain('this is another log than');
    expect(await dump(await readModels(installation))).toEqual(before);
  });
});
