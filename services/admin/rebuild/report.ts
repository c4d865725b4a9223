/** Shows what a comparison found. */
import { tableOf } from '../output/table.ts';
import type { Comparison, Difference } from './comparison.ts';

/** In words, for a terminal. */
export function describeComparison(comparison: Comparison): string {
  const { counts, differences, sampled, stores, unsettled } = comparison;
  const table = tableOf(
    counts.filter(({ live, rebuilt }) => live + rebuilt > 0),
    [
      ['RECORDS', ({ collection }) => collection],
      ['LIVE', ({ live }) => String(live), 'right'],
      ['NEW', ({ rebuilt }) => String(rebuilt), 'right'],
    ],
  );
  const lines = differences.map((difference) => describeDifference(comparison, difference));
  const moving = unsettled > 0 ? `\n${unsettled} records are newer there, or changed all the time` : '';
  return `${table}\ncompared the versions of all records of ${stores} stores and the content of ${sampled}: ${
    lines.length === 0 ? 'no difference' : `\n${lines.join('\n')}`
  }${moving}`;
}

const KINDS: Record<Difference['kind'], string> = {
  missing: 'missing in the new generation',
  added: 'only in the new generation',
  version: 'another version',
  content: 'other content of the same version',
  counts: 'counts or trees that are not what the records say',
};

function describeDifference(
  { isOtherProjection }: Comparison,
  { collection, kind, count, fields, examples }: Difference,
): string {
  const why = kind === 'content' && isOtherProjection ? ', made by another projection' : '';
  const where = fields.length > 0 ? ` in ${fields.join(', ')}` : '';
  return `  ${collection}: ${count} ${KINDS[kind]}${why}${where}: ${examples.join(', ')}${count > examples.length ? ', …' : ''}`;
}

/** For programs. */
export function comparisonJson(comparison: Comparison): object {
  const { stores, counts, sampled, differences, unsettled, isOtherProjection } = comparison;
  return { stores, counts, sampled, unsettled, other_projection: isOtherProjection, differences };
}
