/** How slow computing is on a machine that has other work, too. */
const WORK_MS = 20;

/** How many times as long computing takes now as alone, since other processes want the processors as well. */
export function measureSlowness(): number {
  const { computedMs, tookMs } = compute();
  return Math.max(1, tookMs / computedMs);
}

/** Computes for a moment. @returns for how long, and how long that took. */
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
