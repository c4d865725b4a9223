/** A Kafka that is away is seen from outside: metrics say so and keep the last lag known, and the log is not flooded. */
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { type RunningProjector, startProjector } from '../../services/projector/projector.ts';
import { type KafkaCluster, startKafkaCluster } from './servers/kafka-cluster.ts';

let kafka: KafkaCluster;
let installation: Installation;
let projector: RunningProjector;
const lines: { level: number; msg: string }[] = [];
beforeAll(async () => {
  kafka = await startKafkaCluster(1);
  installation = await createInstallation({ settings: { KAFKA_BROKERS: kafka.brokers } });
  const log = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as (typeof lines)[number]);
      done();
    },
  });
  const config = readConfig({ ...installation.env, KAFKA_BROKERS: kafka.proxied });
  projector = await startProjector(config, createLogger('projector', 'info', log));
});
afterAll(async () => {
  await kafka?.proxy.restore();
  await projector?.stop();
  await installation?.close();
  await kafka?.close();
});

interface Shown {
  get: () => Promise<{ values: { value: number }[] }>;
}

const valuesOf = async (metric: Shown) => (await metric.get()).values.map(({ value }) => value);

it('is told by metrics, which keep the last lag known, and by a line a minute for each failure', async () => {
  const { kafkaConnected, lag, fetched } = projector.metrics;
  const consumers = 2;
  const partitions = 4;
  await eventually('all is known', async () => {
    const [connected, lags] = await Promise.all([valuesOf(kafkaConnected), valuesOf(lag)]);
    return connected.filter((value) => value === 1).length === consumers && lags.length === partitions;
  });
  const before = lines.length;
  await kafka.proxy.cut();
  const are = (wanted: number) => async () => (await valuesOf(kafkaConnected)).every((value) => value === wanted);
  await eventually('it is told', are(0));
  // Both consumers have been started again at least once by now.
  await eventually('they restart', () => lines.some(({ msg }) => msg === 'consumer restarts'), 120_000);
  expect(await valuesOf(lag)).toHaveLength(partitions);
  const last = await valuesOf(fetched);
  expect(last).toHaveLength(consumers);
  for (const seconds of last) expect(seconds).toBeLessThan(Date.now() / 1_000);
  expect(lines.length - before).toBeLessThan(60);
  await kafka.proxy.restore();
  await eventually('it is back', are(1));
  expect(await valuesOf(lag)).toHaveLength(partitions);
});
