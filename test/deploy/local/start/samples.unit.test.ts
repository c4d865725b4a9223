/** What is read out of metrics. */
import { describe, expect, it } from 'vitest';
import { histogramOf, quantile, readSamples, total } from '#local/start/samples.ts';

const scraped = `
# TYPE seconds histogram
seconds_bucket{le="0.1",route="/a/"} 8
seconds_bucket{le="1",route="/a/"} 10
seconds_bucket{le="+Inf",route="/a/"} 12
seconds_sum{route="/a/"} 9
seconds_count{route="/a/"} 12
seconds_bucket{le="0.1",route="/b/"} 2
seconds_bucket{le="1",route="/b/"} 2
seconds_bucket{le="+Inf",route="/b/"} 2
other_bucket{le="1"} 99
`;

describe('a histogram', () => {
  const histogram = histogramOf(readSamples(scraped), 'seconds');

  it('is that of all labels together', () => {
    expect([...histogram]).toEqual([
      [0.1, 10],
      [1, 12],
      [Infinity, 14],
    ]);
    expect(total(histogram)).toBe(14);
  });

  it('says what a share of its values is at most', () => {
    expect(quantile(new Map(), histogram, 0.5)).toBeCloseTo(0.07);
    expect(quantile(new Map(), histogram, 11 / 14)).toBeCloseTo(0.55);
    expect(quantile(new Map(), histogram, 0.99)).toBe(1);
  });

  it('says it of the values that came since an earlier look, and nothing where none came', () => {
    const before = new Map([
      [0.1, 10],
      [1, 10],
      [Infinity, 12],
    ]);
    expect(quantile(before, histogram, 0.5)).toBeCloseTo(0.55);
    expect(quantile(histogram, histogram, 0.5)).toBeNull();
  });
});
