/** Where values lie on an axis, and which of them are marked. */

export interface Scale {
  /** The position of a value, in pixels. */
  at: (value: number) => number;
  ticks: number[];
}

/** An axis from 0 to 1 with quarters marked. */
export function shareScale(start: number, end: number): Scale {
  return { at: (value) => start + (end - start) * value, ticks: [0, 0.25, 0.5, 0.75, 1] };
}

/** A logarithmic axis over whole powers of ten that hold all values. */
export function logScale(values: readonly number[], start: number, end: number): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    at: (value) => start + ((end - start) * (Math.log10(value) - low)) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
  };
}

const STEPS = [1, 2, 2.5, 5, 10];
const MOST_TICKS = 6;

/** An axis from 0 to the largest value, marked at round numbers. */
export function linearScale(values: readonly number[], start: number, end: number): Scale {
  const most = Math.max(1, ...values);
  const power = 10 ** Math.floor(Math.log10(most / MOST_TICKS));
  const step = power * (STEPS.find((factor) => most / (factor * power) <= MOST_TICKS) ?? 1);
  const count = Math.ceil(most / step);
  return {
    at: (value) => start + ((end - start) * value) / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12))),
  };
}
