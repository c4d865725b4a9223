import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import { eventAt } from './load.ts';
import { type KafkaCluster, startKafkaCluster } from './servers/kafka-cluster.ts';

describe('a Kafka in which no group has a coordinator', () => {
  let kafka: KafkaCluster;
  let installation: Installation;
  let projector: ServiceProcess;
  beforeAll(async () => {
    kafka = await startKafkaCluster(1, { coordinates: false });
    installation = await createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } });
    await installation.publish([eventAt(0), eventAt(1)]);
    projector = startService('projector', installation.env);
  });
  afterAll(async () => {
    projector?.kill('SIGKILL');
    await projector?.ended;
    await installation?.close();
    await kafka?.close();
  });

  it('is waited for, however long that takes', async () => {
    let ended = false;
    void projector.ended.then(() => (ended = true));
    await projector.logged(({ msg }) => msg === 'consumer restarts');
    await sleep(20_000);
    expect(ended).toBe(false);

    const admin = new kafkajs.Kafka({ brokers: kafka.brokers.split(',') }).admin();
    await admin.connect();
    const topics = [{ topic: '__consumer_offsets', numPartitions: 4, replicationFactor: 1 }];
    await eventually('groups have a coordinator', () => admin.createTopics({ topics }));
    await admin.disconnect();
    await caughtUp(installation);
  });
});
