import { afterAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { killAll, startService, type ServiceProcess } from '#test/service-process.ts';
import { withAdmin } from '#test/topics.ts';
import { eventAt } from './load.ts';
import { note } from './results.ts';
import { type KafkaCluster, startKafkaCluster } from './servers/kafka-cluster.ts';

const APPLIED = 400;
/** If no fetch shows it, a poll every ten seconds does. */
const BOUND_MS = 40_000;

const events = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => eventAt(from + index));

describe('a log that is replaced while a projector runs', () => {
  const services: ServiceProcess[] = [];
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    await killAll(services);
    for (const close of closing.toReversed()) await close();
  });

  const install = async (settings: Record<string, string> = {}) => {
    const installation = await createInstallation({
      partitions: 1,
      settings: { KAFKA_SESSION_TIMEOUT_MS: '6000', ...settings },
    });
    closing.push(() => installation.close());
    return installation;
  };
  const project = async (installation: Installation) => {
    const service = startService('projector', installation.env);
    services.push(service);
    await service.logged(({ msg }) => msg === 'projector started');
    await installation.publish(events(0, APPLIED));
    await caughtUp(installation);
    return service;
  };
  /** Waits until the partition has stopped. @returns the milliseconds. */
  const stops = async (service: ServiceProcess): Promise<number> => {
    const began = performance.now();
    const { error } = await service.logged(
      ({ level, topic }) => level === 60 && String(topic).startsWith('store-changes.'),
    );
    expect(error).toContain('this is another log than');
    return performance.now() - began;
  };

  it('is detected after a broker that missed messages became leader, even if the log has grown again', async () => {
    const kafka = await startKafkaCluster(3);
    closing.push(() => kafka.close());
    const installation = await install({ KAFKA_BROKERS: kafka.brokers });
    await keepTwoCopies(installation, kafka);
    const topic = changesTopic(installation.environment);
    const service = await project(installation);
    await kafka.inSync(topic);
    const [first, second] = kafka.servers;
    await second?.kill();
    await eventually(
      'the other copy is left behind',
      async () => (await inSyncOf(installation)) === 1,
      60_000,
    );
    await installation.publish(events(APPLIED, 50));
    await caughtUp(installation);
    const before = await dump(await readModels(installation));
    await first?.kill();
    await second?.start();
    await eventually(
      'the other copy leads',
      async () => (await kafka.leaderOf(topic, 0)) === second,
      90_000,
    );
    await installation.publish(events(20_000, 100));
    const recovery = await stops(service);
    expect(await dump(await readModels(installation))).toEqual(before);
    note({
      fault: 'log lost its end: until it stops',
      recoveriesMs: [recovery],
      boundMs: BOUND_MS,
      events: APPLIED + 50,
    });
    expect(recovery).toBeLessThan(BOUND_MS);
  });
});

/**
 * Recreates the topic with replicas on the first two brokers, one in-sync replica, and unclean
 * elections.
 */
async function keepTwoCopies(
  { kafka, environment }: Installation,
  cluster: KafkaCluster,
): Promise<void> {
  const admin = kafka.admin();
  const topic = changesTopic(environment);
  await admin.deleteTopics({ topics: [topic] });
  await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(topic));
  const settings = {
    ...TOPIC_CONFIG,
    'unclean.leader.election.enable': 'true',
    'min.insync.replicas': '1',
  };
  await admin.createTopics({
    waitForLeaders: false,
    topics: [
      {
        topic,
        replicaAssignment: [{ partition: 0, replicas: [1, 2] }],
        configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
      },
    ],
  });
  await eventually('it has a leader', () =>
    cluster.leaderOf(topic, 0).then(
      () => true,
      () => false,
    ),
  );
  await admin.disconnect();
}

/** The number of in-sync replicas of the partition. */
async function inSyncOf({ kafka, environment }: Installation): Promise<number> {
  const topics = [changesTopic(environment)];
  const metadata = await withAdmin(kafka, (admin) => admin.fetchTopicMetadata({ topics }));
  return metadata.topics[0]?.partitions[0]?.isr.length ?? 0;
}
