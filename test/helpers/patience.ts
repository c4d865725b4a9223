/** How patient services are in tests, and what must be quick all the same. */

/**
 * Every installation has it: answers are to be right; that they come in time is for tests about that alone, and machines are busy.
 */
export const PATIENCE: Record<string, string> = {
  MONGODB_READ_TIMEOUT_MS: '20000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  OVERLOAD_LATENCY_MS: '60000',
  SHUTDOWN_DELAY_MS: '0',
};

/** As patient as services are by default: for tests in which a server is away. */
export const DEFAULT_TIMEOUTS: Record<string, string> = {
  MONGODB_READ_TIMEOUT_MS: '',
  REDIS_COMMAND_TIMEOUT_MS: '',
};

/** How many milliseconds of a processor this process takes for something: however busy the machine is, it is as much. */
export async function processorMs(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const MOST_TIMES = 20;

/**
 * Does something until it was quick, at least so many times. On a busy machine a process stands still for moments, so that it may take
 * longer now and then; what has no deadline is never quick.
 */
export async function quickOnce(
  what: string,
  allowedMs: number,
  act: () => Promise<unknown>,
  atLeast = 1,
): Promise<void> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let time = 1; time <= atLeast || quickest >= allowedMs; time += 1) {
    if (time > Math.max(atLeast, MOST_TIMES)) {
      throw new Error(`${what}: took ${Math.round(quickest)} ms at best, ${allowedMs} are allowed`);
    }
    const began = performance.now();
    await act();
    quickest = Math.min(quickest, performance.now() - began);
  }
}
