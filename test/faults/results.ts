/** The figures of a run. Each test appends its own; the run prints all at its end. */
import { appendFileSync, readFileSync } from 'node:fs';
import Table from 'cli-table3';
import { median } from '../bench/median.ts';

export interface Result {
  fault: string;
  /** Milliseconds from the fault, or from its end, until every partition is applied again. */
  recoveriesMs: number[];
  boundMs: number;
  events: number;
}

/** The variable with the path of the results file; the set-up sets it. */
export const RESULTS_FILE = 'FAULTS_RESULTS_FILE';

export function note(result: Result): void {
  const file = process.env[RESULTS_FILE];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`);
}

export function renderResults(file: string): string {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const table = new Table({
    head: ['fault', 'times', 'recovery: middle', 'longest', 'bound', 'events'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  });
  for (const line of lines) {
    const { fault, recoveriesMs, boundMs, events } = JSON.parse(line) as Result;
    const longest = Math.max(0, ...recoveriesMs);
    const middle = recoveriesMs.length === 0 ? 0 : median(recoveriesMs);
    table.push([
      fault,
      recoveriesMs.length,
      seconds(middle),
      seconds(longest),
      seconds(boundMs),
      events,
    ]);
  }
  return table.toString();
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
