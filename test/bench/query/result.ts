/** The result of `bench -- query`, as `--json` prints it. */
import type { SideResult } from '../in-turn.ts';
import type { Machine } from '../machine.ts';

export interface RowResult {
  name: string;
  path: string;
  poll: boolean;
  /** Of a full answer. */
  body_bytes: number;
  /** Medians of the rounds. */
  ours: SideResult;
  usual_way: SideResult;
  /** Median of the rounds' ratios of requests a second. */
  ratio: number;
  /** Of each round: the machine's noise shows in how far they are apart. */
  round_ratios: number[];
}

export interface QueryBenchResult {
  benchmark: 'query';
  date: string;
  machine: Machine;
  /** What repeats it. */
  command: string;
  records: number;
  connections: number;
  seconds: number;
  rounds: number;
  rows: RowResult[];
}
