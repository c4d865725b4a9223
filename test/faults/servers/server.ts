/** One server program that a test kills and starts again, on the same ports and data. */
import type { Guard } from '#local/stack/program/guard.ts';
import { type Command, type GuardedProcess, startGuarded } from '#local/stack/program/guarded-process.ts';

export interface Server {
  port: number;
  start: () => Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill: () => Promise<void>;
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
    isRunning: () => held !== null,
  };
}
