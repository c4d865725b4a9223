/** What the options of `bench -- query` may be. */
import { InvalidArgumentError } from 'commander';

export interface QueryBenchOptions {
  records: number;
  /** At least one of these measures counts and pages at scale. */
  orders?: number;
  customers?: number;
  connections: number;
  seconds: number;
  rounds: number;
  only?: string;
  json?: true;
  writeDocs?: true;
}

/** Reads a whole number from `least` on. */
export function atLeast(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
  };
}
