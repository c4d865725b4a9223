import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { Registry } from 'prom-client';
import { createMetrics as projectorMetrics } from '#projector/metrics.ts';
import { createMetrics as queryMetrics } from '#query/metrics.ts';

/** A line of the document for each metric of ours; those of Node have names and documents of their own. */
async function linesOf(registry: Registry): Promise<string[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics
    .filter(({ name }) => name.startsWith('store_data_'))
    .map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
}

const squeezed = (line: string) => line.replaceAll(/ +/g, ' ').trim();

it('docs/metrics.md has a line for every metric of both services, and none for others', async () => {
  const document = await readFile('docs/metrics.md', 'utf8');
  const told = document
    .split('\n')
    .filter((line) => line.startsWith('| `store_data_'))
    .map(squeezed);
  const made = [...(await linesOf(queryMetrics().registry)), ...(await linesOf(projectorMetrics().registry))];
  expect(told.toSorted()).toEqual(made.toSorted());
});
