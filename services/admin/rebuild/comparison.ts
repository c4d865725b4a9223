/** What a comparison of two generations finds. */
import type { DifferenceKind } from '../comparison/scan.ts';

/** Differences of one kind in one collection. */
export interface Difference {
  collection: string;
  /** `counts`: the new one's own counts or rank trees are not what its records say. */
  kind: DifferenceKind | 'counts';
  count: number;
  /** Names of fields that differ. */
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
