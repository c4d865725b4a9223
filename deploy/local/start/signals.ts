/** When to stop: on a signal, or when npm, which would pass signals on, is itself gone. */
import { statOf } from '#local/stack/process.ts';
import { type Stack, type StackOptions, startStack } from '#local/stack/stack.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PARENT_POLL_MS = 500;
/** npm passes on the Ctrl-C that the terminal sent us as well: so close together, two are one. */
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
 * A killed npm does not end its children, so they would keep running unnoticed. Between npm and us there
 * may be a shell, which is not killed with it, so that the shell's parent counts as well.
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

/** Starts the servers. Asked to stop meanwhile, the process just ends, and so does all that it had begun. */
export async function startStackOrExit(options: StackOptions, stop: Promise<StopRequest>): Promise<Stack> {
  const first = await Promise.race([startStack(options), stop]);
  return 'exitCode' in first ? process.exit(first.exitCode) : first;
}
