/** When to stop: on a signal, or when npm, which would pass signals on, is itself gone. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PARENT_POLL_MS = 500;
/** npm passes on the Ctrl-C that the terminal sent us as well: so close together, two are one. */
const SAME_MS = 700;

export interface StopRequest {
  /** What asked for it, in words for people. */
  why: string;
  exitCode: number;
}

/** Resolves at the first request to stop; a second signal ends the process at once. */
export function stopRequested(): Promise<StopRequest> {
  return new Promise((resolve) => {
    let first: number | null = null;
    const stop = (why: string, exitCode: number) => {
      const now = Date.now();
      if (first === null) {
        first = now;
        resolve({ why, exitCode });
      } else if (now - first > SAME_MS) {
        process.exit(exitCode);
      }
    };
    for (const signal of SIGNALS) process.on(signal, () => stop(signal, signal === 'SIGINT' ? 130 : 143));
    watchNpm(() => stop('npm is gone', 143));
  });
}

/** A killed npm takes nobody along: whoever it started would go on without anybody knowing. */
function watchNpm(gone: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, PARENT_POLL_MS);
  timer.unref();
}
