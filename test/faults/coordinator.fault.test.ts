import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { killAll, startService } from '#test/service-process.ts';
import { eventAt } from './load.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

describe('a Kafka without group coordinators', () => {
  const kafka = useMade(() => startKafkaCluster(1, { coordinates: false }));
  const installation = useMade(() =>
    createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } }),
  );

  it('makes the projector wait until there is one', async () => {
    await installation.publish([eventAt(0), eventAt(1)]);
    const projector = startService('projector', installation.env);
    onTestFinished(() => killAll([projector]));
    await projector.logged(({ msg }) => msg === 'the coordinator of the group does not answer');
    await sleep(20_000);
    expect(projector.process.exitCode).toBeNull();

    const topics = [{ topic: '__consumer_offsets', numPartitions: 4, replicationFactor: 1 }];
    await eventually('groups have a coordinator', () => kafka.admin.createTopics({ topics }));
    await caughtUp(installation);
  });
});
