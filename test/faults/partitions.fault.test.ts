import { afterAll, beforeAll, describe, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { startTrial, type Trial } from './trial.ts';

describe('a topic that is given more partitions', () => {
  let trial: Trial;
  beforeAll(async () => {
    trial = await startTrial({ partitions: 2 });
  });
  afterAll(() => trial?.close());

  it('is applied to the same end, although stores move between partitions', async () => {
    const projectors = [trial.start(), trial.start()];
    await Promise.all(projectors.map((one) => one.logged(({ msg }) => msg === 'partition is applied')));
    const admin = trial.installation.kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: changesTopic(trial.disturbed), count: 5 }] });
    await admin.disconnect();
    const recoveriesMs = [await trial.movesOn(5)];
    await trial.conclude([{ fault: 'topic given more partitions', recoveriesMs, boundMs: 20_000 }], {
      storesMoved: true,
    });
  });
});
