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

interface Shown {
  get: () => Promise<{ values: { value: number }[] }>;
}

const valuesOf = async (metric: Shown) => (await metric.get()).values.map(({ value }) => value);

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
  const { kafkaConnected, lag, fetched } = projector.metrics;
  const consumers = 2;
  const partitions = 4;
  await eventually('all is known', async () => {
    const [connected, lags] = await Promise.all([valuesOf(kafkaConnected), valuesOf(lag)]);
    return (
      connected.filter((value) => value === 1).length === consumers && lags.length === partitions
    );
  });
  const before = lines.length;
  await kafka.proxy.cut();
  const are = (wanted: number) => async () =>
    (await valuesOf(kafkaConnected)).every((value) => value === wanted);
  await eventually('it is told', are(0));
  // Both consumers have looked for their coordinator at least once by now.
  await eventually(
    'they look for it',
    () => lines.some(({ msg }) => msg === 'the coordinator of the group does not answer'),
    120_000,
  );
  expect(await valuesOf(lag)).toHaveLength(partitions);
  const last = await valuesOf(fetched);
  expect(last).toHaveLength(consumers);
  for (const seconds of last) expect(seconds).toBeLessThan(Date.now() / 1_000);
  expect(lines.length - before).toBeLessThan(60);
  await kafka.proxy.restore();
  await eventually('it is back', are(1));
  expect(await valuesOf(lag)).toHaveLength(partitions);
});
