/** The rows of a terminal as an SVG picture. Bars of charts are drawn as rectangles, since fonts differ. */

const CELL = { width: 8.4, height: 18 } as const;
const MARGIN = 16;
const TITLE = 34;
const BARS = '▁▂▃▄▅▆▇█';
/** A row is bars and what lies between them. */
const RUNS = new RegExp(`[${BARS}]+|[^${BARS}\\s]+(?: [^${BARS}\\s]+)*`, 'gu');

/** The picture of a window of that many columns. */
export function terminalPicture(title: string, rows: readonly string[], columns: number): string {
  const width = Math.ceil(columns * CELL.width) + 2 * MARGIN;
  const height = TITLE + rows.length * CELL.height + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    '<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dce2;white-space:pre}.note{fill:#8b96a3}.title{fill:#8b96a3;text-anchor:middle}rect.bar{fill:#5fb98b}</style>',
    `<rect width="${width}" height="${height}" rx="10" fill="#14181d"/>`,
    ...['#e0645c', '#dfae4b', '#5fb98b'].map(
      (color, index) => `<circle cx="${20 + index * 18}" cy="18" r="5.5" fill="${color}"/>`,
    ),
    `<text class="title" x="${width / 2}" y="23">${escaped(title)}</text>`,
    ...rows.flatMap((row, index) => drawRow(row, TITLE + index * CELL.height)),
    '</svg>',
    '',
  ].join('\n');
}

function drawRow(row: string, top: number): string[] {
  const note = row.startsWith('#') ? ' class="note"' : '';
  return [...row.matchAll(RUNS)].map(({ 0: run, index }) => {
    const x = round(MARGIN + index * CELL.width);
    if (BARS.includes(run.charAt(0))) {
      return Array.from(run, (bar, step) => drawBar(bar, x + step * CELL.width, top)).join('');
    }
    const length = round(run.length * CELL.width);
    return `<text${note} x="${x}" y="${top + 14}" textLength="${length}" lengthAdjust="spacingAndGlyphs">${escaped(run)}</text>`;
  });
}

function drawBar(bar: string, x: number, top: number): string {
  const height = round(((BARS.indexOf(bar) + 1) / BARS.length) * (CELL.height - 3));
  return `<rect class="bar" x="${round(x)}" y="${round(top + CELL.height - 1 - height)}" width="${CELL.width - 1}" height="${height}"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
