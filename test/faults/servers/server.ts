/** One server program that a test kills and starts again, on the same ports and data. */
import type { Guard } from '#local/stack/program/guard.ts';
import { type Command, type GuardedProcess, startGuarded } from '#local/stack/program/guarded-process.ts';

/** How long a server may take to end in order. */
const ENDING_MS = 60_000;

export interface Server {
  port: number;
  start: () => Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill: () => Promise<void>;
  /** SIGTERM; resolves when it has ended in order. */
  end: () => Promise<void>;
  isRunning: () => boolean;
}

/** Makes a server that is not started yet. */
export function makeServer(guard: Guard, command: Command, port: number, logFile: string): Server {
  let held: GuardedProcess | null = null;
  const forget = async (started: GuardedProcess) => {
    await started.exited;
    if (held === started) held = null;
  };
  return {
    port,
    async start() {
      const started = await startGuarded(guard, command, logFile);
      held = started;
      void forget(started);
    },
    async kill() {
      await held?.stop(0);
    },
    async end() {
      await held?.stop(ENDING_MS);
    },
    isRunning: () => held !== null,
  };
}
