import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { endsOf, withAdmin } from '#test/topics.ts';
import { runJson } from '../admin/run-command.ts';

const installation = useInstallation();
const projector = useProjector(installation);

it('a projector commits its offsets to the group, for tools that show lag', async () => {
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

it('a projector applies partitions that its topic gets while it runs', async () => {
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

it('a projector shows no metrics of its connection to Kafka for a generation that is dropped, as a late answer would', async () => {
  const { generations, kafkaConnected, fetched } = projector.metrics;
  for (const number of [1, 2]) {
    await runJson(installation.env, 'rebuild');
    await runJson(installation.env, `generations drop ${number} --yes`);
    await eventually(
      'it is no longer projected',
      async () => (await generations.get()).values.length === 1,
    );
  }
  // Longer than Kafka holds a request.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const shown = await Promise.all([kafkaConnected, fetched].map((metric) => metric.get()));
  const labels = shown.flatMap(({ values }) => values.map((value) => value.labels.generation));
  expect(new Set(labels)).toEqual(new Set(['control', 'g3']));
});
