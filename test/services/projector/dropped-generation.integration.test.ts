/**
 * A generation that is dropped leaves no metrics: an answer of Kafka that comes late would raise an
 * alert for ever.
 */
import { expect, it } from 'vitest';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp } from '#test/read-models.ts';
import { runJson } from '../admin/run-command.ts';

const TIMES = 2;

const installation = useInstallation({ partitions: 1 });
const projector = useProjector(installation);

/** The generations in the metrics of the changes. */
async function shown(): Promise<Set<unknown>> {
  const { kafkaConnected, fetched } = projector.metrics;
  const found = await Promise.all([kafkaConnected, fetched].map((metric) => metric.get()));
  const labels = found.flatMap(({ values }) => values.map((value) => value.labels));
  return new Set(labels.map(({ generation }) => generation).filter((name) => name !== 'control'));
}

it('a dropped generation leaves no metrics of its connection to Kafka', async () => {
  await caughtUp(installation);
  for (let number = 1; number <= TIMES; number += 1) {
    await runJson(installation.env, 'rebuild');
    await runJson(installation.env, `generations drop ${number} --yes`);
    const { generations } = projector.metrics;
    await eventually(
      'it is no longer projected',
      async () => (await generations.get()).values.length === 1,
    );
  }
  // Longer than Kafka holds a request.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(await shown()).toEqual(new Set([`g${TIMES + 1}`]));
});
