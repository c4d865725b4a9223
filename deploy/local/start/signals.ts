/** When to stop: on a signal, or when npm, which passes signals on, is gone. */
import { statOf } from '#local/stack/process.ts';
import { type Stack, type StackOptions, startStack } from '#local/stack/stack.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PARENT_POLL_MS = 500;
/** npm repeats the terminal's Ctrl-C: two signals this close are one. */
const SAME_MS = 700;

export interface StopRequest {
  why: string;
  exitCode: number;
}

/** Resolves at the first request to stop; a second signal ends the process at once. */
export function stopRequested(): Promise<StopRequest> {
  return new Promise((resolve) => {
    let first: number | null = null;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        const exitCode = signal === 'SIGINT' ? 130 : 143;
        const now = Date.now();
        first ??= now;
        resolve({ why: signal, exitCode });
        if (now - first > SAME_MS) process.exit(exitCode);
      });
    }
    watchNpm(() => resolve({ why: 'npm is gone', exitCode: 143 }));
  });
}

/**
 * A killed npm does not end its children. Between npm and this process may be a shell, so the
 * shell's parent counts too.
 */
function watchNpm(gone: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const { parent: grandparent } = statOf(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && statOf(parent).parent === grandparent) return;
    clearInterval(timer);
    gone();
  }, PARENT_POLL_MS);
  timer.unref();
}

/**
 * Starts the servers; a request to stop meanwhile ends the process, and the guardian the servers.
 */
export async function startStackOrExit(
  options: StackOptions,
  stop: Promise<StopRequest>,
): Promise<Stack> {
  const first = await Promise.race([startStack(options), stop]);
  return 'exitCode' in first ? process.exit(first.exitCode) : first;
}
