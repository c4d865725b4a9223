/** Draws a soak over time: memory, what is open, latency and freshness. */
import { drawPanel, type Line, type Panel } from '../chart/panel.ts';
import { linearScale, logScale } from '../chart/scales.ts';
import type { Sample, SoakRecord } from './result.ts';

const WIDTH = 900;
const HEIGHT = 720;
const COLUMNS = [
  [70, 430],
  [530, 870],
] as const;
const ROWS = [
  [290, 70],
  [640, 420],
] as const;
const COLOURS = ['first', 'second', 'third'];

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #444c56; }
.title { font-weight: 600; }
.grid { stroke: #8b949e; stroke-opacity: 0.4; fill: none; }
.line { stroke-width: 1.5; }
.first { stroke: #0969da; fill: #0969da; }
.second { stroke: #bc4c00; fill: #bc4c00; }
.third { stroke: #1a7f37; fill: #1a7f37; }
.faint.line { stroke-opacity: 0.6; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #c9d1d9; }
  .first { stroke: #58a6ff; fill: #58a6ff; }
  .second { stroke: #f0883e; fill: #f0883e; }
  .third { stroke: #3fb950; fill: #3fb950; }
}
.line { fill: none; }
`;

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
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="A soak: memory, what is open, latency and freshness">`,
    `<style>${STYLE}</style>`,
    legend(names),
    ...panels.map(drawPanel),
    '</svg>',
    '',
  ].join('\n');
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

function legend(names: readonly string[]): string {
  return names
    .map((name, index) => {
      const x = COLUMNS[0][0] + index * 150;
      return `<path class="line ${COLOURS[index] ?? ''}" d="M${x} 22h28"/><text x="${x + 36}" y="26">${name}</text>`;
    })
    .join('\n');
}
