import { describe, expect, it, onTestFinished } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { eventually } from '#test/eventually.ts';
import { useMade } from '#test/hooks.ts';
import { createInstallation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { killAll, startService } from '#test/service-process.ts';
import { times } from '#test/times.ts';
import { eventAt } from './load.ts';
import { note } from './results.ts';
import { startKafkaCluster } from './servers/kafka-cluster.ts';

const APPLIED = 400;
/** If no fetch shows it, a poll every ten seconds does. */
const BOUND_MS = 40_000;

const events = (from: number, count: number) => times(count, (index) => eventAt(from + index));

describe('a log that is replaced while a projector runs', () => {
  const kafka = useMade(() => startKafkaCluster(3));
  const installation = useMade(() =>
    createInstallation({
      partitions: 1,
      settings: { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_BROKERS: kafka.brokers },
    }),
  );

  it('is detected after a broker that missed messages became leader, even if the log has grown again', async () => {
    const topic = changesTopic(installation.environment);
    await kafka.placeTopic(topic, [[1, 2]], { 'unclean.leader.election.enable': 'true' });
    const service = startService('projector', installation.env);
    onTestFinished(() => killAll([service]));
    await service.logged(({ msg }) => msg === 'projector started');
    await installation.publish(events(0, APPLIED));
    await caughtUp(installation);
    await kafka.inSync(topic);
    const [first, second] = kafka.servers;
    await second?.kill();
    const isAlone = async () => (await kafka.partitionsOf(topic))[0]?.isr.length === 1;
    await eventually('the other copy is left behind', isAlone);
    await installation.publish(events(APPLIED, 50));
    await caughtUp(installation);
    const before = await dump(await readModels(installation));
    await first?.kill();
    await second?.start();
    const leads = async () => (await kafka.leaderOf(topic, 0)) === second;
    await eventually('the other copy leads', leads);
    await installation.publish(events(20_000, 100));
    const began = performance.now();
    const { error } = await service.logged(
      (line) => line['level'] === 60 && String(line['topic']).startsWith('store-changes.'),
    );
    const recovery = performance.now() - began;
    expect(error).toContain('this is another log than');
    expect(await dump(await readModels(installation))).toEqual(before);
    note('log lost its end: until it stops', [recovery], BOUND_MS, APPLIED + 50);
    expect(recovery).toBeLessThan(BOUND_MS);
  });
});
