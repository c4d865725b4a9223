/** The records for the terminal and for `docs/benchmarks.md`. */
import { type Column, renderTable } from '../../../services/admin/output/print.ts';
import { median, rounded } from '../median.ts';
import { grouped } from '../query/report/columns.ts';
import { type Kind, KINDS, type ScaleRecord } from './result.ts';

const PROJECTOR = ['stores', 'projectors', 'events/s', 'µs', 'MongoDB µs', 'peak MiB', 'load'];
const REQUESTS = [
  'stores',
  'services',
  'request',
  'req/s',
  'p50 ms',
  'p99 ms',
  'µs',
  'MongoDB µs',
  'Redis µs',
];
const STORAGE = ['stores', 'order B', 'indexes B', 'session B', 'store B', 'peak MiB'];

const NAMES: Record<Kind, string> = { details: 'order details', list: 'order list', poll: 'order list, 304' };

export function renderScreen(records: readonly ScaleRecord[]): string {
  const table = (titles: readonly string[], rows: string[][]) =>
    renderTable(
      titles.map((title): Column => ({ title, align: 'right' })),
      rows,
    );
  return [
    conditions(records),
    '',
    table(PROJECTOR, projectorRows(records)),
    table(REQUESTS, requestRows(records)),
    table(STORAGE, storageRows(records)),
  ].join('\n');
}

export function renderMarkdown(records: readonly ScaleRecord[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = (titles: readonly string[], rows: string[][]) => [
    line(titles),
    line(titles.map(() => '--:')),
    ...rows.map(line),
    '',
  ];
  return [
    conditions(records),
    '',
    '![Processor time of an event and of a request, by stores and by instances](scale.svg)',
    '',
    ...table(PROJECTOR, projectorRows(records)),
    ...table(REQUESTS, requestRows(records)),
    ...table(STORAGE, storageRows(records)),
  ]
    .join('\n')
    .trimEnd();
}

function conditions(records: readonly ScaleRecord[]): string {
  const [record] = records;
  if (record === undefined) throw new Error('nothing was measured');
  const { machine, date, orders, connections, seconds } = record;
  const loads = records.map(({ load_average: load }) => load);
  return `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}; load average ${rounded(median(loads), 1)} in the median, since other programs ran on the machine. ${grouped(orders)} orders, ${connections} connections and ${seconds} seconds a measurement.`;
}

function projectorRows(records: readonly ScaleRecord[]): string[][] {
  return records.map(({ stores, instances, projector, load_average: load }) => [
    grouped(stores),
    String(instances),
    grouped(projector.events_per_second),
    digits(projector.cpu_us),
    digits(projector.mongodb_us),
    digits(projector.peak_mib),
    String(load),
  ]);
}

function requestRows(records: readonly ScaleRecord[]): string[][] {
  return records.flatMap(({ stores, instances, requests }) =>
    KINDS.map((kind) => {
      const {
        per_second: rate,
        p50_ms: p50,
        p99_ms: p99,
        cpu_us: cpu,
        mongodb_us: mongodb,
        redis_us: redis,
      } = requests[kind];
      return [
        grouped(stores),
        String(instances),
        NAMES[kind],
        grouped(rate),
        p50.toFixed(1),
        p99.toFixed(1),
        digits(cpu),
        digits(mongodb),
        digits(redis),
      ];
    }),
  );
}

/** Of the most instances: each measurement adds orders. */
function storageRows(records: readonly ScaleRecord[]): string[][] {
  const last = new Map(records.map((record) => [record.stores, record]));
  return [...last.values()].map(({ stores, storage, query_peak_mib: peak }) => [
    grouped(stores),
    digits(storage.order_document_bytes),
    digits(storage.order_index_bytes),
    digits(storage.session_bytes),
    digits(storage.store_bytes),
    digits(peak),
  ]);
}

function digits(value: number | null): string {
  return value === null ? '–' : grouped(value);
}
