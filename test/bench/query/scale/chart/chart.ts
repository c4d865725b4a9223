/** Draws how latency grows: beside each other by depth of the page and by records of the store, as an SVG for light and dark pages. */
import { grouped } from '../report/cells.ts';
import type { Curve, Point } from '../result.ts';
import { drawPanel, type Line, type Panel } from '../../../chart/panel.ts';
import { logScale, shareScale } from '../../../chart/scales.ts';

const WIDTH = 900;
const HEIGHT = 400;
const TOP = 66;
const BOTTOM = 340;
const LEFT_PANEL = [70, 430] as const;
const RIGHT_PANEL = [510, 850] as const;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #444c56; }
.title { font-weight: 600; }
.grid { stroke: #8b949e; stroke-opacity: 0.4; fill: none; }
.line { stroke-width: 2; fill: none; }
.second.line { stroke-dasharray: 6 4; }
.ours { stroke: #0969da; fill: #0969da; }
.usual { stroke: #bc4c00; fill: #bc4c00; }
@media (prefers-color-scheme: dark) {
  text { fill: #c9d1d9; }
  .ours { stroke: #58a6ff; fill: #58a6ff; }
  .usual { stroke: #f0883e; fill: #f0883e; }
}
.line { fill: none; }
`;

export function drawChart(curves: readonly Curve[], title: string): string {
  const all = curves.flatMap(({ by_depth: depth, by_records: records }) => [...depth, ...records]);
  const times = all.flatMap(({ ours_ms: ours, usual_way_ms: usualWay }) => [ours, usualWay]);
  const y = logScale(times, BOTTOM, TOP);
  const yText = (value: number) => `${String(value)} ms`;
  const sizes = curves.flatMap(({ by_records: points }) => points.map(({ at }) => at));
  const panels: Panel[] = [
    {
      title: 'by depth of the page',
      caption: 'page, from the first to the last',
      x: shareScale(...LEFT_PANEL),
      y,
      xText: (value) => `${value * 100} %`,
      yText,
      lines: linesOf(curves, ({ by_depth: points }) => points),
    },
    {
      title: 'by records of the store, page in the middle',
      caption: 'records',
      x: logScale(sizes, ...RIGHT_PANEL),
      y,
      xText: grouped,
      yText,
      lines: linesOf(curves, ({ by_records: points }) => points),
    },
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    `<style>${STYLE}</style>`,
    legend(curves),
    ...panels.map(drawPanel),
    '</svg>',
    '',
  ].join('\n');
}

/** Ours and the usual way of each list; the second list's lines are dashed. */
function linesOf(curves: readonly Curve[], pointsOf: (curve: Curve) => Point[]): Line[] {
  return curves.flatMap((curve, index) => {
    const points = pointsOf(curve);
    return [
      { style: styleOf('ours', index), points: points.map((point) => ({ x: point.at, y: point.ours_ms })) },
      {
        style: styleOf('usual', index),
        points: points.map((point) => ({ x: point.at, y: point.usual_way_ms })),
      },
    ];
  });
}

function legend(curves: readonly Curve[]): string {
  const entries = curves.flatMap(({ list }, index) => [
    { text: `${list}, ours`, style: styleOf('ours', index) },
    { text: `${list}, usual way`, style: styleOf('usual', index) },
  ]);
  const width = (WIDTH - 2 * LEFT_PANEL[0]) / entries.length;
  return entries
    .map(({ text, style }, index) => {
      const x = LEFT_PANEL[0] + index * width;
      return `<path class="line ${style}" d="M${x} 18h28"/><text x="${x + 36}" y="22">${text}</text>`;
    })
    .join('\n');
}

function styleOf(side: 'ours' | 'usual', index: number): string {
  return index === 0 ? side : `${side} second`;
}
