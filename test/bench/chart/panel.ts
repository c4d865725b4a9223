/** One panel of the chart: lines over two axes. */
import type { Scale } from './scales.ts';

export interface Line {
  /** The classes of its style. */
  style: string;
  points: { x: number; y: number }[];
}

export interface Panel {
  title: string;
  /** What the horizontal axis shows. */
  caption: string;
  x: Scale;
  y: Scale;
  xText: (value: number) => string;
  yText: (value: number) => string;
  lines: Line[];
}

/** Of more points the line alone is shown. */
const MOST_DOTS = 30;
const TITLE_ABOVE = 14;
const TEXT_BELOW = 18;
const CAPTION_BELOW = 38;

export function drawPanel({ title, caption, x, y, xText, yText, lines }: Panel): string {
  const [left, right] = endsOf(x);
  const [bottom, top] = endsOf(y);
  const middle = (left + right) / 2;
  return [
    `<text class="title" x="${middle}" y="${top - TITLE_ABOVE}" text-anchor="middle">${title}</text>`,
    ...y.ticks.map((value) => {
      const at = round(y.at(value));
      return `<path class="grid" d="M${left} ${at}H${right}"/><text x="${left - 8}" y="${at + 4}" text-anchor="end">${yText(value)}</text>`;
    }),
    ...x.ticks.map((value) => {
      const at = round(x.at(value));
      return `<path class="grid" d="M${at} ${bottom}v5"/><text x="${at}" y="${bottom + TEXT_BELOW}" text-anchor="middle">${xText(value)}</text>`;
    }),
    `<text x="${middle}" y="${bottom + CAPTION_BELOW}" text-anchor="middle">${caption}</text>`,
    ...lines.map(({ style, points }) => {
      const places = points.map((point) => [round(x.at(point.x)), round(y.at(point.y))] as const);
      const dots = (places.length > MOST_DOTS ? [] : places).map(
        ([cx, cy]) => `<circle class="${style}" cx="${cx}" cy="${cy}" r="3"/>`,
      );
      return `<path class="line ${style}" d="M${places.map((place) => place.join(' ')).join('L')}"/>${dots.join('')}`;
    }),
  ].join('\n');
}

function endsOf({ at, ticks }: Scale): [number, number] {
  return [round(at(ticks[0] ?? 0)), round(at(ticks.at(-1) ?? 0))];
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
