/** Draws what events and requests cost by the number of stores, a line for each number of instances. */
import type { Panel } from '../chart/panel.ts';
import { linearScale, logScale } from '../chart/scales.ts';
import { COLOURS, COLUMNS, drawSheet, ROWS } from '../chart/sheet.ts';
import { grouped } from '../query/report/columns.ts';
import type { ScaleRecord } from './result.ts';

export function drawScale(records: readonly ScaleRecord[]): string {
  const numbers = [...new Set(records.map(({ instances }) => instances))];
  return drawSheet(
    'What events and requests cost, by stores and instances',
    numbers.map((number) => `${number} of each service`),
    [
      panelOf(0, 0, records, 'processor time of an event, µs', ({ projector }) => projector.cpu_us),
      panelOf(1, 0, records, 'events a second', ({ projector }) => projector.events_per_second),
      panelOf(0, 1, records, 'processor time of an order list, µs', ({ requests }) => requests.list.cpu_us),
      panelOf(1, 1, records, 'p99 of an order list, ms', ({ requests }) => requests.list.p99_ms),
    ],
  );
}

function panelOf(
  column: 0 | 1,
  row: 0 | 1,
  records: readonly ScaleRecord[],
  title: string,
  of: (record: ScaleRecord) => number,
): Panel {
  const [left, right] = COLUMNS[column];
  const [bottom, top] = ROWS[row];
  const byInstances = [...Map.groupBy(records, ({ instances }) => instances).values()];
  return {
    title,
    caption: 'stores',
    x: logScale(
      records.map(({ stores }) => stores),
      left,
      right,
    ),
    y: linearScale(records.map(of), bottom, top),
    xText: grouped,
    yText: grouped,
    lines: byInstances.map((group, index) => ({
      style: COLOURS[index] ?? '',
      points: group.map((record) => ({ x: record.stores, y: of(record) })),
    })),
  };
}
