/** A soak for the terminal and for `docs/benchmarks.md`. */
import { type Column, renderTable } from '../../../services/admin/output/print.ts';
import { median, rounded } from '../median.ts';
import { grouped } from '../query/report/columns.ts';
import type { Sample, SoakRecord } from './result.ts';
import { judge, type Verdict } from './verdict.ts';

export const CHART = 'soak.svg';

const TREND_TITLES = ['figure', 'after a quarter', 'at the end', 'growth in an hour', 'at most', 'holds'];
const TIME_TITLES = ['answers', 'number', 'p50 ms', 'p99 ms', 'worst p99 ms'];

export function renderScreen(record: SoakRecord): string {
  const verdict = judge(record);
  const table = (titles: readonly string[], rows: string[][]) =>
    renderTable(
      titles.map((title, index): Column => ({ title, align: index === 0 ? 'left' : 'right' })),
      rows,
      110,
    );
  return [
    conditions(record),
    '',
    table(TREND_TITLES, trendRows(verdict)),
    '',
    table(TIME_TITLES, timeRows(record.samples)),
    '',
    ending(record, verdict),
  ].join('\n');
}

export function renderMarkdown(record: SoakRecord): string {
  const verdict = judge(record);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = (titles: readonly string[], rows: string[][]) => [
    line(titles),
    line(titles.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rows.map(line),
  ];
  return [
    `Measured on ${record.head.date}: ${conditions(record)}`,
    '',
    `![Memory, open files, latency and freshness of the soak](${CHART})`,
    '',
    ...table(TREND_TITLES, trendRows(verdict)),
    '',
    ...table(TIME_TITLES, timeRows(record.samples)),
    '',
    ending(record, verdict),
  ].join('\n');
}

function conditions({ head, samples }: SoakRecord): string {
  const { machine, stores, eventsPerSecond, requestsPerSecond } = head;
  return `${Math.round(samples.at(-1)?.minute ?? 0)} minutes, ${stores} stores, about ${eventsPerSecond} events and ${requestsPerSecond} requests a second; ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}; load average ${rounded(median(samples.map(({ load }) => load)), 1)} in the median, since other programs ran on the machine.`;
}

function trendRows({ trends }: Verdict): string[][] {
  return trends.map(({ what, first, last, per_hour: slope, limit, holds }) => [
    what,
    String(first),
    String(last),
    String(slope),
    String(limit),
    holds ? 'yes' : 'no',
  ]);
}

/** Medians of what was measured in each interval: a moment in which the machine was busy does not move them. */
function timeRows(samples: readonly Sample[]): string[][] {
  const kinds = [...new Set(samples.flatMap(({ answers }) => Object.keys(answers)))].toSorted();
  const row = (name: string, of: (sample: Sample) => Sample['freshness'] | undefined) => {
    const times = samples.flatMap((sample) => of(sample) ?? []).filter(({ count }) => count > 0);
    return [
      name,
      grouped(times.reduce((sum, { count }) => sum + count, 0)),
      String(rounded(median(times.map((one) => one.p50_ms)), 1)),
      String(rounded(median(times.map((one) => one.p99_ms)), 1)),
      String(Math.max(...times.map((one) => one.p99_ms))),
    ];
  };
  return [
    ...kinds.map((kind) => row(kind, ({ answers }) => answers[kind])),
    row('freshness', ({ freshness }) => freshness),
  ];
}

function ending(record: SoakRecord, verdict: Verdict): string {
  const { answers, wrong, refused, warnings, errors, isLongEnough, holds } = verdict;
  const listed = Object.entries(wrong).map(([what, count]) => `${what} (${count})`);
  const cpu = (name: string) =>
    rounded(median(record.samples.map(({ services }) => services[name]?.cpu_percent ?? Number.NaN)), 1);
  const processors = Object.keys(record.samples[0]?.services ?? {}).map((name) => `${name} ${cpu(name)} %`);
  return [
    `Of ${grouped(answers)} answers ${listed.length === 0 ? 'none was' : 'these were'} wrong${listed.length === 0 ? '' : `: ${listed.join(', ')}`}, and ${refused} were 503. The logs have ${warnings} warnings and ${errors} errors.`,
    `Processor time, of a core: ${processors.join(', ')}.`,
    isLongEnough
      ? `The verdict: it ${holds ? 'holds' : 'does not hold'}.`
      : 'It was too short for a verdict.',
  ].join(' ');
}
