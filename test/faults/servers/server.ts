/** One server program that a test kills and starts again, on the same ports and data. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, type Guard, type GuardedProcess, startGuarded } from '#local/stack/process.ts';

/** How long a server may take to end in order. */
const ENDING_MS = 60_000;

export interface Server {
  port: number;
  start: () => Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill: () => Promise<void>;
  /** SIGTERM; resolves when it has ended in order. */
  end: () => Promise<void>;
  /** SIGSTOP: it takes connections, and answers nothing. */
  freeze: () => void;
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
    freeze() {
      if (held !== null) process.kill(held.pid, 'SIGSTOP');
    },
    isRunning: () => held !== null,
  };
}

/** Starts that are tried at most. */
const MOST_STARTS = 3;
const POLL_MS = 50;

class EndedAtStart extends Error {}

/** Starts servers and does what makes them ready. @throws at once where one of them ends meanwhile. */
export async function startAll<T>(servers: readonly Server[], ready: () => Promise<T>): Promise<T> {
  await Promise.all(servers.map((server) => server.start()));
  const over = new AbortController();
  const ended = async () => {
    while (servers.every((server) => server.isRunning())) {
      if (over.signal.aborted) return;
      await sleep(POLL_MS);
    }
    throw new EndedAtStart('a server ended before it was ready');
  };
  const readying = ready();
  readying.catch(() => undefined);
  try {
    await Promise.race([readying, ended()]);
    return await readying;
  } finally {
    over.abort();
  }
}

/** Starts what chooses its ports itself, and again where a server ended: another process may have taken a port before it was used. */
export async function onFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof EndedAtStart) || attempt === MOST_STARTS) throw error;
    }
  }
}
