/** Draws a soak over time: memory, what is open, latency and freshness. */
import type { Line, Panel } from '../chart/panel.ts';
import { linearScale, logScale } from '../chart/scales.ts';
import { COLOURS, COLUMNS, drawSheet, ROWS } from '../chart/sheet.ts';
import type { Sample, SoakRecord } from './result.ts';

type Figure = (sample: Sample) => number | undefined;

export function drawSoak({ samples }: SoakRecord): string {
  const names = Object.keys(samples[0]?.services ?? {});
  const each = (of: (service: Sample['services'][string]) => number, suffix = '') =>
    names.map((name, index) =>
      lineOf(samples, `${COLOURS[index] ?? ''}${suffix}`, ({ services }) => {
        const service = services[name];
        return service === undefined ? undefined : of(service);
      }),
    );
  const times = (of: (sample: Sample) => Sample['freshness'] | undefined, colour: string) => [
    lineOf(samples, colour, (sample) => atLeastOne(of(sample)?.p50_ms)),
    lineOf(samples, `${colour} faint`, (sample) => atLeastOne(of(sample)?.p99_ms)),
  ];
  const panels = [
    panelOf(0, 0, samples, 'resident memory, heap dashed', 'MiB', [
      ...each((one) => one.rss_mib),
      ...each((one) => one.heap_mib, ' faint'),
    ]),
    panelOf(1, 0, samples, 'file descriptors, handles dashed', '', [
      ...each((one) => one.descriptors),
      ...each((one) => one.handles, ' faint'),
    ]),
    panelOf(
      0,
      1,
      samples,
      'lists (blue), records (orange), menus (green): p50, p99 dashed',
      'ms',
      ['list', 'details', 'menu'].flatMap((kind, index) =>
        times(({ answers }) => answers[kind], COLOURS[index] ?? ''),
      ),
    ),
    panelOf(
      1,
      1,
      samples,
      'from event to answer: p50, p99 dashed',
      'ms',
      times(({ freshness }) => freshness, 'first'),
    ),
  ];
  return drawSheet('A soak: memory, what is open, latency and freshness', names, panels);
}

function panelOf(
  column: 0 | 1,
  row: 0 | 1,
  samples: readonly Sample[],
  title: string,
  unit: string,
  lines: Line[],
): Panel {
  const values = lines.flatMap(({ points }) => points.map(({ y }) => y));
  const [bottom, top] = ROWS[row];
  const [left, right] = COLUMNS[column];
  return {
    title,
    caption: 'minutes',
    x: linearScale(
      samples.map(({ minute }) => minute),
      left,
      right,
    ),
    y: (unit === 'ms' ? logScale : linearScale)(values, bottom, top),
    xText: String,
    yText: (value) => `${value} ${unit}`.trim(),
    lines,
  };
}

function lineOf(samples: readonly Sample[], style: string, of: Figure): Line {
  const points = samples.flatMap((sample) => {
    const y = of(sample);
    return y === undefined ? [] : [{ x: sample.minute, y }];
  });
  return { style, points };
}

/** Nothing below a millisecond fits the logarithmic axis. */
function atLeastOne(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined || milliseconds === 0 ? undefined : Math.max(1, milliseconds);
}
