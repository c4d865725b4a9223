/**
 * A generation that is dropped leaves no metrics: an answer of Kafka that comes late would raise an
 * alert for ever.
 */
import { expect, it } from 'vitest';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp } from '#test/read-models.ts';
import { runCommand } from '../admin/run-command.ts';

const TIMES = 2;

const installation = useInstallation({ partitions: 1 });
const projector = useProjector(installation);

/** Of the changes. */
async function shown(): Promise<string[]> {
  const { kafkaConnected, fetched } = projector.metrics;
  const found = await Promise.all([kafkaConnected, fetched].map((metric) => metric.get()));
  const labels = found.flatMap(({ values }) =>
    values.map(({ labels: { generation } }) => String(generation)),
  );
  return [...new Set(labels)].filter((generation) => generation !== 'control').toSorted();
}

it(
  'a dropped generation leaves no metrics of its connection to Kafka',
  { timeout: 300_000 },
  async () => {
    await caughtUp(installation);
    for (let number = 1; number <= TIMES; number += 1) {
      for (const args of ['rebuild', `generations drop ${number} --yes`]) {
        const { code, stderr } = await runCommand(installation.env, args);
        expect([args, code], stderr).toEqual([args, 0]);
      }
      const { generations } = projector.metrics;
      await eventually(
        'it is no longer projected',
        async () => (await generations.get()).values.length === 1,
      );
    }
    // Longer than Kafka holds a request.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await shown()).toEqual([`g${TIMES + 1}`]);
  },
);
