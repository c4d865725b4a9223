import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { orderMessage } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

const CALLS = 4;

describe('three Kafka brokers, whose first named one is frozen', () => {
  const kafka = useMade(() => startKafkaCluster(3));
  const installation = useMade(() =>
    createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } }),
  );
  beforeAll(async () => {
    for (const topicOf of [changesTopic, accessTopic])
      await kafka.inSync(topicOf(installation.environment));
  });
  // Topics cannot be removed while a broker is frozen.
  afterAll(() => kafka.servers[0]?.kill());

  it('does not stop any command once the others lead its partitions', async () => {
    kafka.servers[0]?.freeze();
    const KAFKA_BROKERS = kafka.brokers.split(',').slice(1).join(',');
    await eventually('the others lead', async () => {
      return (await runCommand({ ...installation.env, KAFKA_BROKERS }, 'lag')).code === 0;
    });
    for (let call = 0; call < CALLS; call += 1) {
      const { value: input } = orderMessage('o1', { storeId: `s${call}` });
      for (const command of ['lag', 'publish -'])
        expect(await runCommand(installation.env, command, { input })).toMatchObject({ code: 0 });
    }
  });
});
