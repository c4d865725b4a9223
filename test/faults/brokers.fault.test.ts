/**
 * What happens to some partitions of a topic: a missing leader, a quota, an open transaction, a
 * frozen or moving coordinator.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { withCluster } from '#shared/kafka/cluster.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { succeeds } from '#test/succeeds.ts';
import { times } from '#test/times.ts';
import { runCommand, runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';
import { LETS_HANG } from './servers/hanging-transaction.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';
import type { Server } from './servers/server.ts';

const PARTITIONS = 6;
/** The partition that the third broker leads; the first two lead the others. */
const ALONE = 5;
const STORES = 30;
const BOUND_MS = 30_000;

const kafka = useMade(() => startKafkaCluster(3, { settings: LETS_HANG }));
const installation = useMade(() =>
  createInstallation({
    partitions: PARTITIONS,
    settings: { KAFKA_BROKERS: kafka.brokers, KAFKA_SESSION_TIMEOUT_MS: '6000' },
  }),
);
let topic: string;
beforeAll(async () => {
  topic = changesTopic(installation.environment);
  const replicas = times(PARTITIONS, (partition) => [
    partition === ALONE ? 3 : 1 + (partition % 2),
  ]);
  await kafka.placeTopic(topic, replicas);
  await kafka.inSync(topic);
});

/** Starts a projector. `assignments` has how often it was assigned partitions so far. */
async function start() {
  const projector = await startSilentProjector(installation);
  onTestFinished(() => projector.stop());
  const { metrics } = projector;
  return { ...projector, assignments: async () => (await metrics.assignments.get()).values };
}

let sequence = 0;
/** Publishes an order of each store. */
const publish = async (stores: readonly string[], data: object = {}) => {
  sequence += 1;
  await installation.publish(
    stores.map((storeId) => orderEvent('o1', { storeId, sequence, data })),
  );
};
const allStores = times(STORES, (index) => `s${index}`);

/** The milliseconds until every store shows its last order. */
async function shown(stores: readonly string[], limitMs = BOUND_MS): Promise<number> {
  const began = performance.now();
  const orders = (await readModels(installation)).collection<{ _id: string }>('orders');
  const ids = stores.map((storeId) => `${storeId}/o1`);
  const are = async () =>
    (await orders.countDocuments({ _id: { $in: ids }, sequence })) === ids.length;
  await eventually('the orders are shown', are, limitMs);
  return performance.now() - began;
}

/** The stores of each partition. */
async function storesBy(): Promise<string[][]> {
  const stamps = await (
    await readModels(installation)
  )
    .collection<Stamp & { slice_partition: number }>(STAMPS)
    .find()
    .toArray();
  return times(PARTITIONS, (partition) =>
    stamps.filter((stamp) => stamp.slice_partition === partition).map(({ _id }) => _id),
  );
}

it('one partition without a leader stops neither the others, nor commands, nor the start of a projector, and continues with its leader', async () => {
  const running = await start();
  await publish(allStores);
  await caughtUp(installation);
  const outside = (await storesBy()).toSpliced(ALONE, 1).flat();
  expect([0, STORES]).not.toContain(outside.length);
  const before = await running.assignments();

  await kafka.servers[2]?.kill();
  const recoveriesMs: number[] = [];
  // Longer than a quiet log is left alone.
  for (let round = 0; round < 4; round += 1) {
    await publish(outside);
    recoveriesMs.push(await shown(outside));
    await sleep(5_000);
  }
  expect(await running.assignments()).toEqual(before);
  note('a partition has no leader: the others', recoveriesMs, BOUND_MS, 4 * outside.length);

  const { stdout, code } = await runCommand(installation.env, 'lag --json');
  const lag = JSON.parse(stdout) as { partitions: { end: number | null }[] };
  // What is unknown is not 0.
  expect(code).toBe(1);
  expect(lag.partitions.filter(({ end }) => end === null)).toMatchObject([
    { topic, partition: ALONE },
  ]);
  expect((await runCommand(installation.env, 'lag')).stdout).toContain('no leader');
  for (const command of ['prepare', 'verify', 'generations list'])
    expect(await runCommand(installation.env, command), command).toMatchObject({ code: 0 });

  await running.stop();
  const next = await start();
  await publish(outside);
  await shown(outside);
  expect(next.isLive()).toBe(true);

  await kafka.servers[2]?.start();
  await eventually('it leads again', () => succeeds(kafka.leaderOf(topic, ALONE)));
  await publish(allStores);
  note('the same: from its next leader', [await shown(allStores)], BOUND_MS, STORES);
  await kafka.inSync(topic);
});

it('a byte quota slows the projector down, and costs it no membership', async () => {
  const projector = await start();
  // What the projector's client may fetch in a second from each broker.
  const setQuota = (...change: string[]) => {
    const client = `${installation.config.namePrefix}.projector`;
    const entity = ['--entity-type', 'clients', '--entity-name', client];
    return kafka.runTool('kafka.admin.ConfigCommand', '--alter', ...change, ...entity);
  };
  await setQuota('--add-config', 'consumer_byte_rate=300000');
  onTestFinished(async () => void (await setQuota('--delete-config', 'consumer_byte_rate')));
  await publish(allStores);
  await shown(allStores);
  const before = await projector.assignments();
  const notes = times(60, () => randomUUID()).join('');
  const began = performance.now();
  for (let count = 0; count < 120; count += 1) await publish(allStores, { notes });
  await caughtUp(installation, installation.environment, 180_000);
  note('a byte quota of 300 kB/s', [performance.now() - began], 180_000, 120 * STORES);
  expect(await projector.assignments()).toEqual(before);
});

it('an open transaction is shown by metrics and commands until it ends', async () => {
  const { metrics } = await start();
  const valueOf = async (metric: (typeof metrics.openTransaction)['seconds']) => {
    const { values } = await metric.get();
    const found = values.find(
      ({ labels }) => labels.topic === topic && Number(labels.partition) === 0,
    );
    return found?.value;
  };
  await publish(allStores);
  await caughtUp(installation);
  const [inside = []] = await storesBy();
  const producer = installation.kafka.producer({
    transactionalId: randomUUID(),
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const transaction = await producer.transaction();
  const [key = ''] = inside;
  await transaction.send({ topic, messages: [{ key, value: 'open', partition: 0 }] });
  await publish(inside);
  const { messages, seconds } = metrics.openTransaction;
  const open = 1 + inside.length;
  await eventually('it is measured', async () => (await valueOf(messages)) === open);
  await eventually('it gets older', async () => ((await valueOf(seconds)) ?? 0) > 5);
  const lag = await runJson<{ partitions: { open: number }[] }>(installation.env, 'lag');
  expect(lag.partitions.filter((one) => one.open > 0)).toMatchObject([
    { topic, partition: 0, lag: 0, open },
  ]);
  await transaction.abort();
  await shown(inside);
  for (const metric of [messages, seconds])
    await eventually('it is over', async () => (await valueOf(metric)) === 0);
});

describe('the broker that coordinates the group', () => {
  afterAll(() => kafka.servers.forEach((server) => server.resume()));

  const coordinator = async () =>
    withCluster(installation.kafka, async (cluster) => {
      await cluster.addTargetTopic(topic);
      const groupId = `${installation.config.namePrefix}.${installation.environment}.g1`;
      const { connectionPool } = await cluster.findGroupCoordinator({ groupId });
      return kafka.servers.find(({ port }) => port === connectionPool.port);
    });

  it.each([
    ['killed', (server?: Server) => server?.kill(), (server?: Server) => server?.start()],
    ['frozen', (server?: Server) => server?.freeze(), (server?: Server) => server?.resume()],
  ])(
    'is %s: all that others lead is applied meanwhile, without a new assignment',
    async (how, act, undo) => {
      const projector = await start();
      await publish(allStores);
      await caughtUp(installation);
      const before = await projector.assignments();
      const server = await coordinator();
      const leaders = await Promise.all(
        times(PARTITIONS, (partition) => kafka.leaderOf(topic, partition)),
      );
      const stores = (await storesBy()).filter((_, at) => leaders[at] !== server).flat();
      await act(server);
      try {
        await publish(stores);
        const recovery = await shown(stores);
        note(
          `the coordinator is ${how}: partitions of others`,
          [recovery],
          BOUND_MS,
          stores.length,
        );
      } finally {
        await undo(server);
      }
      await kafka.inSync(topic);
      await publish(allStores);
      await shown(allStores, 60_000);
      expect(await projector.assignments()).toEqual(before);
    },
  );
});
