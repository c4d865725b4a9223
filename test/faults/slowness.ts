/** How much slower everything is because other processes want the processors as well: bounds of times are for a machine that has one free. */
import { compute } from '../../deploy/testing/slowness.ts';

const EVERY_MS = 500;

/** Measures until the function that it returns is called, which says how many times as long computing took as alone. */
export function watchSlowness(): () => number {
  const moments = [compute()];
  const computing = setInterval(() => moments.push(compute()), EVERY_MS);
  return () => {
    clearInterval(computing);
    const sumOf = (key: 'tookMs' | 'computedMs') => moments.reduce((sum, moment) => sum + moment[key], 0);
    return Math.max(1, sumOf('tookMs') / sumOf('computedMs'));
  };
}
