// What the tests of the local stack know about processes that are not theirs to wait for.
import { readFileSync } from 'node:fs';
import { vi } from 'vitest';

/** Whether a process runs; one that has ended and was not yet waited for (a zombie) does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    return false;
  }
}

/** Resolves when none of them runs any more. */
export async function awaitGone(pids: readonly number[], limitMs = 60_000): Promise<void> {
  const check = () => {
    const left = pids.filter(isRunning);
    if (left.length > 0) throw new Error(`still running: ${left.join(', ')}`);
  };
  await vi.waitFor(check, { timeout: limitMs, interval: 20 });
}

/** The environment of this process without the addresses of the servers that all tests share, and whether those are clusters. */
export function environmentWithoutAddresses(): NodeJS.ProcessEnv {
  const names = new Set(['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL', 'STACK_TOPOLOGY']);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.has(name)));
}
