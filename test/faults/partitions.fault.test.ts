import { afterAll, beforeAll, describe, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { withAdmin } from '#test/topics.ts';
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
    const topicPartitions = [{ topic: changesTopic(trial.disturbed), count: 5 }];
    await withAdmin(trial.installation.kafka, (admin) => admin.createPartitions({ topicPartitions }));
    const recoveriesMs = [await trial.movesOn(5)];
    await trial.conclude([{ fault: 'topic given more partitions', recoveriesMs, boundMs: 20_000 }], {
      storesMoved: true,
    });
  });
});
