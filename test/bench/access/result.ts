/** The result of `bench -- access`, as `--json` prints it. */
import type { SideResult } from '../in-turn.ts';
import type { Machine } from '../machine.ts';

/** Two sides, measured in turn; medians of the rounds. */
export interface Comparison {
  name: string;
  ours: SideResult;
  other: SideResult;
  /** Median of the rounds' ratios of requests a second, ours by the other's. */
  ratio: number;
  /** Of each round: the machine's noise shows in how far they are apart. */
  round_ratios: number[];
}

/** Times of one kind of refusal in milliseconds. */
export interface Distribution {
  name: string;
  requests: number;
  p10_ms: number;
  p50_ms: number;
  p90_ms: number;
  p99_ms: number;
}

export interface AccessBenchResult {
  benchmark: 'access';
  date: string;
  machine: Machine;
  /** What repeats it. */
  command: string;
  connections: number;
  seconds: number;
  rounds: number;
  /** Tokens, ours beside oidc-provider. */
  tokens: Comparison;
  /** Data requests, with and without the access path. */
  data: Comparison[];
  /** What a failed authentication takes. */
  refusals: Distribution[];
}
