import { InvalidArgumentError } from 'commander';

/** A parser of a whole number within bounds. */
export function wholeNumber(least: number, most = 999_999_999): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
