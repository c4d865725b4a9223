import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orderMessage } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { runCommand } from '../services/admin/run-command.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

const CALLS = 8;

describe('three Kafka brokers, whose first named one is frozen', () => {
  const kafka = useMade(() => startKafkaCluster(3));
  const installation = useMade(() =>
    createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } }),
  );
  beforeAll(async () => {
    for (const name of ['store-changes', 'store-access'])
      await kafka.inSync(`${name}.${installation.environment}`);
  });
  // Topics cannot be removed while a broker is frozen.
  afterAll(() => kafka.servers[0]?.kill());

  it('does not stop any command once the others lead its partitions', async () => {
    kafka.servers[0]?.freeze();
    const others = kafka.brokers.split(',').slice(1).join(',');
    const withOthers = { ...installation.env, KAFKA_BROKERS: others };
    await eventually(
      'the others lead',
      async () => (await runCommand(withOthers, 'lag')).code === 0,
    );
    const outcomes: [number | null, string][] = [];
    for (let call = 0; call < CALLS; call += 1) {
      const { value } = orderMessage('o1', { storeId: `s${call}` });
      const input = `${value}\n`;
      const { code, stderr } = await (call % 2 === 0
        ? runCommand(installation.env, 'lag')
        : runCommand(installation.env, 'publish -', { input }));
      outcomes.push([code, stderr]);
    }
    expect(outcomes.map(([code, said]) => (code === 0 ? 'works' : said))).toEqual(
      Array.from({ length: CALLS }, () => 'works'),
    );
  });
});
