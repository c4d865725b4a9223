/** How much other processes slow this machine down. Time bounds assume a free core. */
import { compute } from '../../deploy/testing/slowness.ts';

const EVERY_MS = 500;

/** Starts measuring. @returns a function that stops and returns the slowdown factor. */
export function watchSlowness(): () => number {
  const moments = [compute()];
  const computing = setInterval(() => moments.push(compute()), EVERY_MS);
  return () => {
    clearInterval(computing);
    const sumOf = (key: 'tookMs' | 'computedMs') =>
      moments.reduce((sum, moment) => sum + moment[key], 0);
    return Math.max(1, sumOf('tookMs') / sumOf('computedMs'));
  };
}
