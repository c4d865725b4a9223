/** What a comparison of two generations finds, and how it is shown. */
import type { DifferenceKind } from '../comparison/scan.ts';
import { tableOf } from '../output/print.ts';

/** Differences of one kind in one collection. */
export interface Difference {
  collection: string;
  /** `counts`: the new one's own counts or rank trees are not what its records say. */
  kind: DifferenceKind | 'counts';
  count: number;
  fields: string[];
  /** Ids of the first records. */
  examples: string[];
}

export interface Comparison {
  stores: number;
  /** Records by collection. */
  counts: { collection: string; live: number; rebuilt: number }[];
  /** How many records were compared with all that they answer. */
  sampled: number;
  differences: Difference[];
  /** Records of which the live one has no newer version, since it is not projected; or that changed all the time. */
  unsettled: number;
  /** Whether another projection made the live one, so that other content is to be expected. */
  isOtherProjection: boolean;
}

const MOST_EXAMPLES = 5;

/** Gathers differences by collection and kind. */
export class DifferenceList {
  readonly #groups = new Map<string, Difference>();

  add(collection: string, kind: Difference['kind'], id: string, fields: readonly string[] = []): void {
    const name = `${collection}/${kind}`;
    const group = this.#groups.get(name) ?? { collection, kind, count: 0, fields: [], examples: [] };
    group.count += 1;
    group.fields = [...new Set([...group.fields, ...fields])];
    if (group.examples.length < MOST_EXAMPLES) group.examples.push(id);
    this.#groups.set(name, group);
  }

  /** By collection and kind. */
  get all(): Difference[] {
    return [...this.#groups]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, difference]) => difference);
  }
}

/** What an operator accepts: nothing, other content of the same versions, or whatever there is. */
export type Acceptance = 'nothing' | 'content' | 'all';

/** The differences that keep a generation from becoming live. */
export function unacceptable({ differences }: Comparison, accepted: Acceptance): Difference[] {
  if (accepted === 'all') return [];
  return differences.filter(({ kind }) => accepted !== 'content' || kind !== 'content');
}

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
