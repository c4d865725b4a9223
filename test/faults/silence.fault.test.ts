/**
 * An unreachable Kafka is visible to operators: metrics keep the last known lag, and the log is not
 * flooded.
 */
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { startProjector } from '../../services/projector/projector.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

const kafka = useMade(() => startKafkaCluster(1));
const installation = useMade(() =>
  createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } }),
);

it('an unreachable Kafka is reported by metrics, which keep the last known lag, and by one line a minute per failure', async () => {
  const lines: { msg: string }[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line) as { msg: string }) });
  const projector = await startProjector(
    readConfig({ ...installation.env, KAFKA_BROKERS: kafka.proxied }),
    logger,
  );
  onTestFinished(async () => {
    await kafka.proxy.restore();
    await projector.stop();
  });
  const valuesOf = async (name: 'kafkaConnected' | 'lag' | 'fetched') =>
    (await projector.metrics[name].get()).values.map(({ value }) => value);
  const partitions = 4;
  const is = (connected: number) => async () =>
    (await valuesOf('kafkaConnected')).join() === [connected, connected].join();
  await eventually('both consumers are connected', is(1));
  await eventually('the lag is known', async () => (await valuesOf('lag')).length === partitions);
  const before = lines.length;
  await kafka.proxy.cut();
  await eventually('it is told', is(0));
  // Both consumers have looked for their coordinator at least once by now.
  const silence = 'the coordinator of the group does not answer';
  await eventually('they look for it', () => lines.some(({ msg }) => msg === silence));
  expect(await valuesOf('lag')).toHaveLength(partitions);
  const last = await valuesOf('fetched');
  expect(last).toHaveLength(2);
  expect(Math.max(...last)).toBeLessThan(Date.now() / 1_000);
  expect(lines.length - before).toBeLessThan(60);
  await kafka.proxy.restore();
  await eventually('it is back', is(1));
  expect(await valuesOf('lag')).toHaveLength(partitions);
});
