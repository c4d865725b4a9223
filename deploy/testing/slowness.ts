/** Measures how much other processes slow this one down. */
const WORK_MS = 20;

/**
 * Elapsed time by processor time of a short computation: 1 on an idle machine, more while other
 * processes compute.
 */
export function measureSlowness(): number {
  const { computedMs, tookMs } = compute();
  return Math.max(1, tookMs / computedMs);
}

/** Computes for some milliseconds. @returns processor time and elapsed time. */
export function compute(): { computedMs: number; tookMs: number } {
  const began = performance.now();
  const before = process.threadCpuUsage();
  let computedMs = 0;
  while (computedMs < WORK_MS) {
    const { user, system } = process.threadCpuUsage(before);
    computedMs = (user + system) / 1_000;
  }
  return { computedMs, tookMs: performance.now() - began };
}
