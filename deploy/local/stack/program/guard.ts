// The owner's end of the pipe to the guardian (guardian.ts): what is held here is removed when this process ends,
// even by SIGKILL. A pipe and not PR_SET_PDEATHSIG, since that one is bound to a thread, is lost on the way through
// some programs, and knows nothing of containers and folders.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What can be held: a process group by its leader's id, a container by its id, a file or folder by its path. */
export type HeldKind = 'process' | 'container' | 'path';

/** Removes what it holds when this process ends. */
export interface Guard {
  pid: number;
  /** Resolves once the guardian knows: from then on the things cannot outlive this process. */
  hold(kind: HeldKind, ...what: (string | number)[]): Promise<void>;
  /** The thing is gone, or may stay. */
  release(kind: HeldKind, what: string | number): void;
  /** Removes what is still held and waits until the guardian is gone. */
  close(): Promise<void>;
}

/** Starts the guardian. */
export function startGuard(): Guard {
  const guardian = spawn(process.execPath, [fileURLToPath(new URL('./guardian.ts', import.meta.url))], {
    // A session of its own, so that no terminal's signal and no group's kill reaches it.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = once(guardian, 'close');
  const waiting = new Map<string, () => void>();
  createInterface({ input: guardian.stdout }).on('line', (line) => {
    waiting.get(line)?.();
    waiting.delete(line);
  });
  // A guardian that was killed: what it held is still stopped by stop(), only SIGKILL is no longer covered.
  guardian.stdin.on('error', () => undefined);
  gone.catch(() => undefined);
  return {
    pid: guardian.pid ?? 0,
    async hold(kind, ...what) {
      const lines = what.map((one) => `hold ${kind} ${one}`);
      const acknowledged = lines.map((line) => new Promise<void>((resolve) => waiting.set(line, resolve)));
      // One write: a stream keeps what follows a first one back until the next turn of the event loop.
      guardian.stdin.write(lines.map((line) => `${line}\n`).join(''));
      await Promise.race([Promise.all(acknowledged), gone]);
    },
    release(kind, what) {
      guardian.stdin.write(`release ${kind} ${what}\n`);
    },
    async close() {
      guardian.stdin.end();
      await gone;
    },
  };
}
