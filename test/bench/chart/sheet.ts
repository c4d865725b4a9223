/** A sheet of four panels, two by two, as an SVG for light and dark pages. */
import { drawPanel, type Panel } from './panel.ts';

const WIDTH = 900;
const HEIGHT = 720;
/** From left to right, of each column. */
export const COLUMNS = [
  [70, 430],
  [530, 870],
] as const;
/** From bottom to top, of each row. */
export const ROWS = [
  [290, 70],
  [640, 420],
] as const;
/** Styles of lines, which `faint` makes dashed. */
export const COLOURS = ['first', 'second', 'third'];

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

/** @param names of the lines of each colour, for the legend. */
export function drawSheet(label: string, names: readonly string[], panels: readonly Panel[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">`,
    `<style>${STYLE}</style>`,
    legend(names),
    ...panels.map(drawPanel),
    '</svg>',
    '',
  ].join('\n');
}

function legend(names: readonly string[]): string {
  return names
    .map((name, index) => {
      const x = COLUMNS[0][0] + index * 150;
      return `<path class="line ${COLOURS[index] ?? ''}" d="M${x} 22h28"/><text x="${x + 36}" y="26">${name}</text>`;
    })
    .join('\n');
}
