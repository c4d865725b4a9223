/**
 * What happens to some partitions of a topic: a missing leader, a quota, an open transaction, a
 * frozen or moving coordinator.
 */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { withCluster } from '#shared/kafka/cluster.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { withAdmin } from '#test/topics.ts';
import { type RunningProjector, startProjector } from '../../services/projector/projector.ts';
import { runCommand, runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';
import { LETS_HANG } from './servers/hanging-transaction.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

const PARTITIONS = 6;
/** The partition that the third broker leads; the first two lead the others. */
const ALONE = 5;
const STORES = 30;
const BOUND_MS = 30_000;

interface Shown {
  get: () => Promise<{
    values: { value: number; labels: Partial<Record<string, string | number>> }[];
  }>;
}

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
  await makeTopics(installation, topic);
});

async function start({ env }: Installation): Promise<RunningProjector> {
  const projector = await startProjector(readConfig(env), pino({ level: 'silent' }));
  onTestFinished(() => projector.stop());
  return projector;
}

let sequence = 0;
/** Publishes an order of each store. */
const publish = async (stores: readonly string[]) => {
  sequence += 1;
  await installation.publish(stores.map((storeId) => orderEvent('o1', { storeId, sequence })));
};
const allStores = Array.from({ length: STORES }, (_, index) => `s${index}`);

/** The milliseconds until every store shows its last order. */
async function shown(stores: readonly string[], limitMs = BOUND_MS): Promise<number> {
  const began = performance.now();
  const orders = (await readModels(installation)).collection<{ _id: string; sequence: number }>(
    'orders',
  );
  const ids = stores.map((storeId) => `${storeId}/o1`);
  const are = async () =>
    (await orders.countDocuments({ _id: { $in: ids }, sequence })) === ids.length;
  await eventually('the orders are shown', are, limitMs);
  return performance.now() - began;
}

/** The stores of a partition, and all others. */
async function storesBy(partition: number) {
  const stamps = await (
    await readModels(installation)
  )
    .collection<Stamp & { slice_partition: number }>(STAMPS)
    .find()
    .toArray();
  const groups = Map.groupBy(stamps, (stamp) => stamp.slice_partition === partition);
  const idsOf = (isIn: boolean) => (groups.get(isIn) ?? []).map(({ _id }) => _id);
  return { inside: idsOf(true), outside: idsOf(false) };
}

const isLed = (partition: number) =>
  kafka.leaderOf(topic, partition).then(
    () => true,
    () => false,
  );

const valueOf = async (metric: Shown, partition: number, of = topic) => {
  const { values } = await metric.get();
  return values.find(
    ({ labels }) => labels['topic'] === of && Number(labels['partition']) === partition,
  )?.value;
};

describe('one partition without a leader', () => {
  it('stops neither the others, nor commands, nor the start of a projector, and continues with its leader', async () => {
    const running = await start(installation);
    await publish(allStores);
    await caughtUp(installation);
    const { inside, outside } = await storesBy(ALONE);
    expect([inside.length, outside.length]).not.toContain(0);
    const assignments = async () => (await running.metrics.assignments.get()).values;
    const before = await assignments();

    await kafka.servers[2]?.kill();
    const recoveriesMs: number[] = [];
    // Longer than a quiet log is left alone.
    for (let round = 0; round < 4; round += 1) {
      await publish(outside);
      recoveriesMs.push(await shown(outside));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
    expect(await assignments()).toEqual(before);
    note({
      fault: 'a partition has no leader: the others',
      recoveriesMs,
      boundMs: BOUND_MS,
      events: 4 * outside.length,
    });

    const { stdout, code } = await runCommand(installation.env, 'lag --json');
    const lag = JSON.parse(stdout) as {
      partitions: { topic: string; partition: number; end: number | null }[];
    };
    // What is unknown is not 0.
    expect(code).toBe(1);
    expect(lag.partitions.filter(({ end }) => end === null)).toMatchObject([
      { topic, partition: ALONE },
    ]);
    expect((await runCommand(installation.env, 'lag')).stdout).toContain('no leader');
    for (const command of ['prepare', 'verify', 'generations list']) {
      expect([command, (await runCommand(installation.env, command)).code]).toEqual([command, 0]);
    }

    await running.stop();
    const next = await start(installation);
    await publish(outside);
    await shown(outside);
    expect(next.isLive()).toBe(true);

    await kafka.servers[2]?.start();
    await eventually('it leads again', () => isLed(ALONE), 60_000);
    await publish(allStores);
    const recovery = await shown(allStores);
    note({
      fault: 'the same: from its next leader',
      recoveriesMs: [recovery],
      boundMs: BOUND_MS,
      events: STORES,
    });
    await kafka.inSync(topic);
  });
});

it('a byte quota slows the projector down, and costs it no membership', async () => {
  const projector = await start(installation);
  await setQuota(installation, 300_000);
  onTestFinished(() => setQuota(installation, null));
  await publish(allStores);
  await shown(allStores);
  const before = (await projector.metrics.assignments.get()).values;
  const text = Array.from({ length: 60 }, () => randomUUID()).join('');
  const began = performance.now();
  for (let count = 0; count < 120; count += 1) {
    sequence += 1;
    await installation.publish(
      allStores.map((storeId) =>
        orderEvent('o1', { storeId, sequence, data: { note: `${text} ${count}` } }),
      ),
    );
  }
  await caughtUp(installation, installation.environment, 180_000);
  const seconds = (performance.now() - began) / 1_000;
  note({
    fault: `a byte quota of 300 kB/s: ${seconds.toFixed(0)} s`,
    recoveriesMs: [],
    boundMs: 0,
    events: 120 * STORES,
  });
  expect((await projector.metrics.assignments.get()).values).toEqual(before);
});

it('an open transaction is shown by metrics and commands until it ends', async () => {
  const projector = await start(installation);
  await publish(allStores);
  await caughtUp(installation);
  const { inside } = await storesBy(0);
  const producer = installation.kafka.producer({
    transactionalId: randomUUID(),
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({
    topic,
    messages: [{ key: inside[0] ?? '', value: 'open', partition: 0 }],
  });
  await publish(inside);
  const { messages, seconds } = projector.metrics.openTransaction;
  const hidden = 1 + inside.length;
  await eventually('it is measured', async () => (await valueOf(messages, 0)) === hidden);
  await eventually('it gets older', async () => ((await valueOf(seconds, 0)) ?? 0) > 5);
  const lag = await runJson<{
    partitions: { topic: string; partition: number; lag: number; open: number }[];
  }>(installation.env, 'lag');
  expect(lag.partitions.filter(({ open }) => open > 0)).toMatchObject([
    { topic, partition: 0, lag: 0, open: hidden },
  ]);
  await transaction.abort();
  await shown(inside);
  await producer.disconnect();
  await eventually(
    'it is over',
    async () => (await valueOf(messages, 0)) === 0 && (await valueOf(seconds, 0)) === 0,
  );
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

  it.each(['killed', 'frozen'])(
    'is %s: all that others lead is applied meanwhile, without a new assignment',
    async (how) => {
      const projector = await start(installation);
      await publish(allStores);
      await caughtUp(installation);
      const before = (await projector.metrics.assignments.get()).values;
      const server = await coordinator();
      const leads = await Promise.all(
        Array.from(
          { length: PARTITIONS },
          async (_, partition) => (await kafka.leaderOf(topic, partition)) === server,
        ),
      );
      const stores = (
        await Promise.all(
          leads.map(async (isIts, partition) => (isIts ? [] : (await storesBy(partition)).inside)),
        )
      ).flat();
      const recoveriesMs: number[] = [];
      if (how === 'killed') await server?.kill();
      else server?.freeze();
      try {
        await publish(stores);
        recoveriesMs.push(await shown(stores));
      } finally {
        if (how === 'killed') await server?.start();
        else server?.resume();
      }
      await kafka.inSync(topic);
      await publish(allStores);
      await shown(allStores, 60_000);
      note({
        fault: `the coordinator is ${how}: partitions of others`,
        recoveriesMs,
        boundMs: BOUND_MS,
        events: stores.length,
      });
      expect((await projector.metrics.assignments.get()).values).toEqual(before);
    },
  );
});

/**
 * Makes the topic of changes anew, without copies: only the third broker has the last partition.
 */
async function makeTopics({ kafka: client }: Installation, name: string): Promise<void> {
  await withAdmin(client, async (admin) => {
    await admin.deleteTopics({ topics: [name] });
    await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(name));
    const settings = { ...TOPIC_CONFIG, 'min.insync.replicas': '1' };
    const replicaAssignment = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      replicas: [partition === ALONE ? 3 : 1 + (partition % 2)],
    }));
    const configEntries = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
    await admin.createTopics({
      waitForLeaders: false,
      topics: [{ topic: name, replicaAssignment, configEntries }],
    });
  });
  const inSync = () =>
    kafka.inSync(name).then(
      () => true,
      () => false,
    );
  await eventually('every broker knows it', inSync, 60_000);
}

/**
 * Bounds what the projector's client may fetch in a second from each broker; `null` removes the
 * bound.
 */
async function setQuota({ config }: Installation, bytes: number | null): Promise<void> {
  const name = 'consumer_byte_rate';
  const change = bytes === null ? ['--delete-config', name] : ['--add-config', `${name}=${bytes}`];
  const entity = ['--entity-type', 'clients', '--entity-name', `${config.namePrefix}.projector`];
  await kafka.runTool('kafka.admin.ConfigCommand', '--alter', ...change, ...entity);
}
