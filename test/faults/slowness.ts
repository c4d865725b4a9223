/** How much slower everything is because other processes want the processors as well: bounds of times are for a machine that has one free. */
const WORK_MS = 20;
const EVERY_MS = 500;

/** Measures until the function that it returns is called, which says how many times as long computing took as alone. */
export function watchSlowness(): () => number {
  let [computedMs, tookMs] = [0, 0];
  const compute = () => {
    const began = performance.now();
    const before = process.threadCpuUsage();
    let spent = 0;
    while (spent < WORK_MS) {
      const { user, system } = process.threadCpuUsage(before);
      spent = (user + system) / 1_000;
    }
    computedMs += spent;
    tookMs += performance.now() - began;
  };
  compute();
  const computing = setInterval(compute, EVERY_MS);
  return () => {
    clearInterval(computing);
    return Math.max(1, tookMs / computedMs);
  };
}
