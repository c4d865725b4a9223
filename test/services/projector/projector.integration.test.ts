import { describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { caughtUp } from '#test/read-models.ts';
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
});
