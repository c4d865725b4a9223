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
