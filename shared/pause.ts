/** A wait that can be ended. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; answers false as soon as the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return sleep(milliseconds, true, { signal }).catch(() => false);
}
