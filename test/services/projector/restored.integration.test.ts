import { afterAll, describe, expect, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { keyEvent, ORDER, orderEvent } from '#test/events.ts';
import { generationDb, statesOf } from '#test/generations.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { killAll, startService, type ServiceProcess } from '#test/service-process.ts';
import { makeTopicAnew } from '#test/topics.ts';
import { runCommand } from '../admin/run-command.ts';

describe('a Kafka cluster replaced by one with other offsets', () => {
  const installation = useInstallation({ partitions: 1 });
  const services: ServiceProcess[] = [];
  afterAll(async () => {
    await killAll(services);
  });

  const orders = (count: number, status: string) =>
    Array.from({ length: count }, (_, index) =>
      orderEvent(`o${index}`, { data: { status, updated_at: ORDER.created_at } }),
    );
  const start = () => {
    const service = startService('projector', installation.env);
    services.push(service);
    return service;
  };
  const stop = async (service: ServiceProcess) => {
    service.kill('SIGTERM');
    await service.ended;
  };
  const replaceTopic = (topic = changesTopic(installation.environment)) =>
    makeTopicAnew(installation.kafka, topic);

  it('is refused with instructions, and a rebuild recovers', async () => {
    const before = start();
    await installation.publish(orders(20, 'pending'));
    await caughtUp(installation);
    await stop(before);
    const read = await dump(await readModels(installation));

    // After a restart it recognizes the log, even without new messages.
    const again = start();
    await again.logged(({ msg }) => msg === 'projector started');
    await installation.publish(orders(1, 'ready').map((event) => ({ ...event, sequence: 2 })));
    await caughtUp(installation);
    await stop(again);
    expect(await dump(await readModels(installation))).not.toEqual(read);
    const last = await dump(await readModels(installation));

    await replaceTopic();
    await installation.publish(orders(40, 'cancelled'));
    const refusing = start();
    const { error } = await refusing.logged(({ level }) => level === 60);
    expect(error).toBe(
      `${changesTopic(installation.environment)}/0: the message at 20 is not the one that was applied: this is another log than the checkpoint was made from; let KAFKA_BROKERS name the cluster that it was made from, or make the read models anew with "store-data rebuild --environment ${installation.environment}"`,
    );
    expect(await dump(await readModels(installation))).toEqual(last);

    const held = await runCommand(installation.env, 'rebuild');
    expect(held.code).toBe(1);
    expect(held.stdout).toMatch(/orders +content +19 +facet summary\.status/);
    expect((await runCommand(installation.env, 'rebuild --accept all')).code).toBe(0);
    expect(await statesOf(installation)).toEqual(['1 kept', '2 live']);
    expect((await dump(generationDb(installation, 2)))['orders']).toHaveLength(40);
  });

  it('has its access log applied from the beginning by the named command, without a restart', async () => {
    await Promise.all(services.splice(0).map(stop));
    const topic = accessTopic(installation.environment);
    const keys = installation.databases.control.collection<{ _id: string }>('access_keys');
    const isThere = (_id: string, sequence: number) =>
      eventually(`${_id} is there`, async () => (await keys.findOne({ _id, sequence })) !== null);
    const before = start();
    await installation.publishAccess([keyEvent('a', 1), keyEvent('b', 2)]);
    await isThere('b', 2);
    await stop(before);

    await replaceTopic(topic);
    await installation.publishAccess([keyEvent('b', 1), keyEvent('c', 1)]);
    const refusing = start();
    const command = `access replay --environment ${installation.environment}`;
    const refused = await refusing.logged(({ error }) => String(error).includes(topic));
    expect(refused).toMatchObject({ level: 60, error: expect.stringContaining(command) });
    expect((await runCommand(installation.env, command)).code).toBe(0);
    await isThere('c', 1);
    // Keys that the new log lacks and newer versions are kept.
    await isThere('a', 1);
    await isThere('b', 2);
  });
});
