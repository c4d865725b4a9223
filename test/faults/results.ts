/** The figures of a run. Each test appends its own; the run prints all at its end. */
import { appendFileSync, readFileSync } from 'node:fs';
import Table from 'cli-table3';
import { median } from '../bench/median.ts';

/** The variable with the path of the results file; the set-up sets it. */
export const RESULTS_FILE = 'FAULTS_RESULTS_FILE';

/**
 * @param recoveriesMs from the fault, or from its end, until every partition is applied again.
 * @param events how many were published, if that matters.
 */
export function note(fault: string, recoveriesMs: number[], boundMs: number, events = 0): void {
  const file = process.env[RESULTS_FILE];
  const middle = recoveriesMs.length === 0 ? 0 : median(recoveriesMs);
  const figures = [middle, Math.max(0, ...recoveriesMs), boundMs].map(seconds);
  const row = [fault, recoveriesMs.length, ...figures, events];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}

export function renderResults(file: string): string {
  const table = new Table({
    head: ['fault', 'times', 'recovery: middle', 'longest', 'bound', 'events'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  });
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean))
    table.push(JSON.parse(line) as string[]);
  return table.toString();
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
