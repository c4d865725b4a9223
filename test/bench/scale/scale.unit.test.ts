import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { expectUpToDate } from '../../docs/made-section.ts';
import { drawScale } from './chart.ts';
import { renderMarkdown } from './report.ts';
import { readRecords, type ScaleRecord } from './result.ts';

const measured = JSON.parse(await readFile('docs/scale.json', 'utf8')) as ScaleRecord[];

describe('what lies in the file', () => {
  const [record] = measured;
  const lineOf = (stores: number, instances: number, cpu: number) =>
    JSON.stringify({
      ...record,
      stores,
      instances,
      projector: { ...record?.projector, cpu_us: cpu, mongodb_us: null },
    });

  it('becomes one record for each number of stores and instances, with the medians of all its lines', () => {
    const text = [lineOf(10, 1, 50), lineOf(1, 2, 70), lineOf(10, 1, 90), lineOf(10, 1, 60), ''].join('\n');
    const records = readRecords(text);
    expect(records.map(({ stores, instances }) => [stores, instances])).toEqual([
      [1, 2],
      [10, 1],
    ]);
    expect(records.map(({ projector }) => projector.cpu_us)).toEqual([70, 60]);
    expect(records[1]).toEqual({
      ...record,
      stores: 10,
      instances: 1,
      projector: { ...record?.projector, cpu_us: 60, mongodb_us: null },
    });
  });
});

describe('the documents', () => {
  it('show what docs/scale.json has: npm run bench -- scale --read --write-docs writes both', async () => {
    await expectUpToDate('docs/benchmarks.md', 'scale', renderMarkdown(measured));
    expect(await readFile('docs/scale.svg', 'utf8')).toBe(drawScale(measured));
  });
});
