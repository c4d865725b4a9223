// The error that is for people, and waiting for a server that is on its way up.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutCredentials } from '#shared/address.ts';

const PAUSE_MS = 50;

/** Tries until it works, the signal aborts, or the time is up: then with the reason of the last failure. */
export async function retryUntil<T>(
  limitMs: number,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const limit = Date.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw error;
      if (Date.now() > limit) {
        throw new Error(`not ready after ${limitMs / 1000} s: ${reasonOf(error)}`, { cause: error });
      }
    }
    await sleep(PAUSE_MS);
  }
}

/** Resolves once something accepts connections there: far cheaper to try than a client with its own retries. */
export function awaitPort(host: string, port: number, limitMs: number, signal: AbortSignal): Promise<void> {
  return retryUntil(limitMs, signal, () => connectOnce(host, port));
}

function connectOnce(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 2_000 });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('timeout', () => socket.destroy(new Error(`no answer from ${host}:${port}`)));
    socket.once('error', reject);
  });
}

/** Something the person who starts the stack can act on. Show `message` alone: the stack trace says nothing more. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/** What went wrong in words, whatever was thrown, without credentials of servers. */
export function reasonOf(error: unknown): string {
  return withoutCredentials(error instanceof Error ? error.message : String(error));
}
