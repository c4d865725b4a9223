/** What the table on the screen and the one in the documentation have in common. */
import { rounded } from '../../../median.ts';
import type { Bytes, Footprint, ScaleResult, ScaleRowResult } from '../result.ts';

export const TITLES = ['work', 'compared with', 'ours', 'our p95', 'theirs', 'result', 'target', 'met'];
export const FOOTPRINT_TITLES = ['records', '', 'documents', 'indexes', 'of them', 'nodes'];

export function cellsOf(row: ScaleRowResult): string[] {
  return [
    row.name,
    row.against,
    timesOf(row.ours, row),
    `${shown(row.ours.p95_ms)} ms`,
    timesOf(row.other, row),
    figureOf(row),
    targetOf(row),
    metOf(row.is_met),
  ];
}

/** The cells of the process's memory. */
export function memoryCells({ memory }: ScaleResult): string[][] {
  if (memory === null) return [];
  const { resident_mb: now, peak_mb: peak, target_mb: target } = memory;
  return [
    [
      'resident memory of the query process',
      '',
      `${now} MB`,
      '',
      '',
      `${peak} MB at its peak`,
      `at most ${target} MB`,
      metOf(peak <= target),
    ],
  ];
}

/** Bytes of one record, ours and then those of the usual way. */
export function footprintCells({ entity, records, ours, usual_way: usualWay }: Footprint): string[][] {
  const names = Object.entries(ours.indexes).map(
    ([name, bytes]) => `${name.replace(/_$/, '')} ${Math.round(bytes)}`,
  );
  return [
    [
      `${grouped(records)} × ${entity}`,
      'ours',
      ...totals(ours),
      names.join(', '),
      `${rounded(ours.nodes, 1)} B`,
    ],
    ['', 'usual way', ...totals(usualWay), `${Object.keys(usualWay.indexes).length} indexes`, ''],
  ];
}

function totals({ documents, indexes }: Bytes): string[] {
  const total = Object.values(indexes).reduce((sum, each) => sum + each, 0);
  return [`${Math.round(documents)} B`, `${Math.round(total)} B`];
}

/** A whole number with its thousands apart. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** What a result comes to. */
export function figureOf({ ratio, target }: ScaleRowResult): string {
  const times = `${ratio < 10 ? ratio.toFixed(2) : grouped(ratio)}×`;
  return target !== null && 'atMost' in target ? `${times} the time` : `${times} as fast`;
}

/** The stores that were measured, in words. */
export function sizeOf({ orders, customers }: Pick<ScaleResult, 'orders' | 'customers'>): string {
  return [
    ...(orders > 0 ? [`${grouped(orders)} orders`] : []),
    ...(customers > 0 ? [`${grouped(customers)} customers`] : []),
  ].join(' and ');
}

function targetOf({ target, p95_target_ms: p95 }: ScaleRowResult): string {
  if (target === null) return '–';
  const ratio = 'atLeast' in target ? `at least ${target.atLeast}×` : `at most ${target.atMost}×`;
  return p95 === null ? ratio : `${ratio}, p95 below ${p95} ms`;
}

function metOf(isMet: boolean | null): string {
  if (isMet === null) return '–';
  return isMet ? 'yes' : 'no';
}

function timesOf(
  { p50_ms: p50, requests_per_second: rate }: ScaleRowResult['ours'],
  { connections }: ScaleRowResult,
): string {
  return connections === 1 ? `${shown(p50)} ms` : `${grouped(rate)}/s`;
}

function shown(milliseconds: number): string {
  return milliseconds < 10 ? milliseconds.toFixed(2) : milliseconds.toFixed(milliseconds < 100 ? 1 : 0);
}
