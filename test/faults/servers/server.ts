/** A server process that a test kills and restarts with the same ports and data. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Command,
  type Guard,
  type GuardedProcess,
  startGuarded,
} from '#local/stack/process.ts';

/** The limit of an orderly shutdown. */
const ENDING_MS = 60_000;

export interface Server {
  port: number;
  start: () => Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill: () => Promise<void>;
  /** SIGTERM; resolves after the orderly shutdown. */
  end: () => Promise<void>;
  /** SIGSTOP: it accepts connections and never answers. */
  freeze: () => void;
  /** SIGCONT. */
  resume: () => void;
  isRunning: () => boolean;
}

/** Makes a server without starting it. */
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
    resume() {
      if (held !== null) process.kill(held.pid, 'SIGCONT');
    },
    isRunning: () => held !== null,
  };
}

const MOST_STARTS = 3;
const POLL_MS = 50;

class EndedAtStart extends Error {}

/** Starts servers and makes them ready. @throws immediately if one exits meanwhile. */
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

/**
 * Starts servers that choose free ports, and retries if one exits: another process may have taken a
 * port.
 */
export async function onFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof EndedAtStart) || attempt === MOST_STARTS) throw error;
    }
  }
}
