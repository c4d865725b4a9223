/** What `bench -- projector` found. */
import type { Machine } from '../machine.ts';
import type { Footprint } from './footprint.ts';
import type { Phases } from './phases.ts';
import type { Side } from './sides/side.ts';

export interface SideResult extends Phases {
  name: Side['name'];
  /** Resident memory of the process at its largest. */
  peak_mib: number;
}

export interface ProjectorBenchResult {
  benchmark: 'projector';
  date: string;
  command: string;
  machine: Machine;
  load_average: number;
  orders: number;
  rounds: number;
  bytes_per_event: number;
  /** Medians of the rounds. */
  sides: SideResult[];
  /** Ours by each other side, medians of the rounds' ratios of events a second. */
  ratios: { than: Side['name']; created: number; changed: number; all: number; rounds: number[] }[];
  /** Of our read models. */
  footprint: Footprint;
}
