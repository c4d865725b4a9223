import { afterAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { orderEvent } from '#test/events.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { killAll, startService, type ServiceProcess } from '#test/service-process.ts';
import { makeTopicAnew } from '#test/topics.ts';

const APPLIED = 100;

const orders = (count: number, status: string) =>
  Array.from({ length: count }, (_, index) => orderEvent(`o${index}`, { data: { status } }));

describe('a topic made anew beneath a running projector', () => {
  const services: ServiceProcess[] = [];
  const installations: Installation[] = [];
  afterAll(async () => {
    await killAll(services);
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
  const makeAnew = ({ kafka, environment }: Installation) => makeTopicAnew(kafka, changesTopic(environment));
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
