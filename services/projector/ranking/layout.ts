/** The layout of a tree: where its leaves and branches begin, and how many records each leaf covers. */
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';

export interface LeafPlace {
  boundary: string;
  total: number;
}

export class Layout {
  /** In order; the first boundary is empty. */
  readonly leaves: LeafPlace[];
  /** Boundaries of branches, in order; each is a leaf's as well. */
  branches: string[];

  constructor(leaves: LeafPlace[], branches: string[]) {
    this.leaves = leaves;
    this.branches = branches;
  }

  /** Index of the leaf that covers a key. */
  leafOf(key: string): number {
    return lastAtOrBelow(this.leaves.length, (index) => this.leaves[index]?.boundary ?? '', key);
  }

  /** Index of the branch that covers a key. */
  branchOf(key: string): number {
    return lastAtOrBelow(this.branches.length, (index) => this.branches[index] ?? '', key);
  }

  /** Where the leaf after `index` begins; `null` after the last. */
  endOfLeaf(index: number): string | null {
    return this.leaves[index + 1]?.boundary ?? null;
  }

  /** Puts other leaves in the place of those from `first` to `last`. */
  replaceLeaves(first: number, last: number, leaves: LeafPlace[]): void {
    this.leaves.splice(first, last - first + 1, ...leaves);
  }

  /** How many leaves each branch has, in the order of `branches`. */
  leavesPerBranch(): number[] {
    const starts = this.branches.map((boundary) => this.leafOf(boundary));
    return starts.map((start, index) => (starts[index + 1] ?? this.leaves.length) - start);
  }
}

/** Index of the last boundary that is not above a key, among `length` in order; the first is below every key. */
function lastAtOrBelow(length: number, boundaryAt: (index: number) => string, key: string): number {
  let low = 0;
  let high = length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compareKeys(boundaryAt(middle), key) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}
