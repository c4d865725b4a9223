import { afterAll, beforeAll, describe, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { type KafkaCluster, startKafkaCluster } from './servers/kafka-cluster.ts';
import { startTrial, type Trial } from './trial.ts';

describe('three Kafka brokers, of which the one that leads is killed', () => {
  let kafka: KafkaCluster;
  let trial: Trial;
  beforeAll(async () => {
    kafka = await startKafkaCluster(3);
    trial = await startTrial({ settings: { KAFKA_BROKERS: kafka.brokers }, eventsPerSecond: 100 });
  });
  afterAll(async () => {
    await trial?.close();
    await kafka?.close();
  });

  it('loses no event: the projector finds the next leaders and coordinator, and goes on', async () => {
    const recoveriesMs: number[] = [];
    trial.start();
    await trial.movesOn();
    for (let kill = 0; kill < 2; kill += 1) {
      const killed = await kafka.leaderOf(changesTopic(trial.disturbed), 0);
      await killed.kill();
      recoveriesMs.push(await trial.movesOn());
      await killed.start();
      await trial.movesOn();
      await kafka.inSync(changesTopic(trial.disturbed));
    }
    await trial.conclude([{ fault: 'Kafka broker killed (1 of 3)', recoveriesMs, boundMs: 30_000 }]);
  });
});
