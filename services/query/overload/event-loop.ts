/** How busy the event loop is. */
import { performance } from 'node:perf_hooks';

/** @returns the share of the time since the last call that the event loop worked, from 0 to 1. */
export function watchEventLoop(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
