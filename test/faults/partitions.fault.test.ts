import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { withAdmin } from '#test/topics.ts';
import { startTrial } from './trial.ts';

describe('a topic that gets more partitions', () => {
  const trial = useMade(() => startTrial({ partitions: 2 }));

  it('leads to the same read models, although stores move between partitions', async () => {
    const projectors = [trial.start(), trial.start()];
    await Promise.all(
      projectors.map((one) => one.logged(({ msg }) => msg === 'partition is applied')),
    );
    const topicPartitions = [{ topic: changesTopic(trial.disturbed), count: 5 }];
    await withAdmin(trial.installation.kafka, (admin) =>
      admin.createPartitions({ topicPartitions }),
    );
    const recoveriesMs = [await trial.untilAdvanced(5)];
    await trial.conclude(
      [{ fault: 'topic given more partitions', recoveriesMs, boundMs: 20_000 }],
      {
        storesMoved: true,
      },
    );
  });
});
