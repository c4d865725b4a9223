/** Records counted one by one. */
import { hash } from 'node:crypto';
import type { RankEntry } from '../../read-models/rank-tree/trees.ts';
import { bytesOfTexts, type SearchTexts } from '../../read-models/search-texts.ts';

export class Tally {
  total = 0;
  /** By facet. */
  readonly counts: Record<string, number> = {};
  readonly #texts: SearchTexts[] | null;

  /** @param keepsTexts whether the texts of what is added are compared later. */
  constructor(keepsTexts = false) {
    this.#texts = keepsTexts ? [] : null;
  }

  /** Of the texts that are kept. */
  get bytes(): number {
    return (this.#texts ?? []).reduce((sum, texts) => sum + bytesOfTexts(texts), 0);
  }

  add({ facet, texts }: RankEntry): void {
    this.total += 1;
    this.counts[facet] = (this.counts[facet] ?? 0) + 1;
    if (texts !== undefined) this.#texts?.push(texts);
  }

  /** Adds what another counted. */
  addAll({ total, counts }: Tally): void {
    this.total += total;
    for (const [facet, count] of Object.entries(counts))
      this.counts[facet] = (this.counts[facet] ?? 0) + count;
  }

  /** The same numbers. */
  withoutTexts(): Tally {
    const numbers = new Tally();
    numbers.addAll(this);
    return numbers;
  }

  describe(): string {
    return Tally.describe(this.counts);
  }

  fingerprintOf(name: keyof SearchTexts): string {
    return Tally.fingerprint((this.#texts ?? []).map((texts) => texts[name]).join(''));
  }

  /** Counts by facet, in one spelling; a count of 0 may be there or not. */
  static describe(counts: Record<string, number>): string {
    return Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([facet, count]) => `${facet} ${count}`)
      .join(', ');
  }

  /** A text's pieces, whatever their order, without showing what they say: they are personal data. */
  static fingerprint(text: string): string {
    const pieces = text.split('\0\0').map((piece) => hash('sha256', piece.replaceAll(/^\0|\0$/g, '')));
    const digest = hash('sha256', pieces.toSorted().join('')).slice(0, 12);
    return `${pieces.length} pieces of ${text.length} characters, ${digest}`;
  }
}
