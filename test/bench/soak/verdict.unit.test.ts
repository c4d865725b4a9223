import { expect, it } from 'vitest';
import { judge, leastSquaresSlope, type Sample } from './report.ts';

/** Two hours of samples of a projector with the memory `rssAt`, one per minute. */
function soak(
  rssAt: (minute: number) => number,
  more: (minute: number) => Partial<Sample> = () => ({}),
) {
  const figures = { handles: 20, descriptors: 40, cpu_percent: 3, warnings: 0, errors: 0 };
  return Array.from({ length: 120 }, (_, index): Sample => {
    const minute = index + 1;
    return {
      minute,
      load: 1,
      services: { projector: { ...figures, rss_mib: rssAt(minute) } },
      mongodb: { connections: 20 },
      redis: { clients: 3, memory_mib: 1 },
      answers: { list: { count: 100, p50_ms: 3, p99_ms: 9 } },
      wrong: {},
      refused: 0,
      ...more(minute),
    };
  });
}
const steady = () => 130;

it('the slope of points on a line is the slope of the line', () => {
  const points = [1, 2, 5, 9].map((x) => ({ x, y: 7 - 3 * x }));
  expect(leastSquaresSlope(points)).toBeCloseTo(-3, 10);
});

it('passes if memory oscillates, or grows only in the first quarter', () => {
  const verdict = judge(soak((minute) => (minute < 30 ? 100 + minute : 130 + (minute % 7))));
  expect(verdict).toMatchObject({ holds: true, isLongEnough: true, answers: 12_000 });
});

it('fails if memory grows', () => {
  const { holds, trends } = judge(soak((minute) => 130 + minute / 4 + (minute % 7)));
  expect(holds).toBe(false);
  expect(trends.filter((trend) => !trend.holds).map(({ what }) => what)).toEqual([
    'projector: resident MiB',
  ]);
});

it.each([
  [
    'one wrong answer',
    (minute: number) => (minute === 3 ? { wrong: { 'list: 500': 1 } } : {}),
    false,
  ],
  ['one 503 of a thousand answers', () => ({ refused: 0.1 }), true],
  ['more than one 503 of a thousand answers', () => ({ refused: 1 }), false],
])('after %s: holds is $2', (_, more, holds) => {
  expect(judge(soak(steady, more)).holds).toBe(holds);
});

it('gives no verdict after a few minutes', () => {
  expect(judge(soak(steady).slice(0, 5)).isLongEnough).toBe(false);
});
