import { describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { endsOf, withAdmin } from '#test/topics.ts';

describe('projector', () => {
  const installation = useInstallation();
  useProjector(installation);

  it('commits its offsets to the group, for tools that show lag', async () => {
    await installation.publish([orderEvent('lag')]);
    await caughtUp(installation);
    const { config, environment, kafka } = installation;
    const topic = changesTopic(environment);
    const groupId = generationGroup(config.namePrefix, environment, 1);
    const told = async () => {
      const [committed] = await withAdmin(kafka, (admin) =>
        admin.fetchOffsets({ groupId, topics: [topic] }),
      );
      return new Map(
        committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]),
      );
    };
    await expect.poll(told, { timeout: 120_000 }).toEqual(await endsOf(kafka, topic));
  });

  it('applies partitions that its topic gets while it runs', async () => {
    const { environment, kafka } = installation;
    const topic = changesTopic(environment);
    const topicPartitions = [{ topic, count: 4 }];
    await withAdmin(kafka, (admin) => admin.createPartitions({ topicPartitions }));
    await eventually('the producer knows the partition', () =>
      installation.send(topic, [{ ...orderMessage('added'), partition: 3 }]).then(
        () => true,
        () => false,
      ),
    );
    await caughtUp(installation);
    expect(await idsIn(await readModels(installation), 'orders')).toContain('s1/added');
  });
});
