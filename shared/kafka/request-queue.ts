/**
 * Has kafkajs look at waiting requests only where some wait. It looks after every answer, and after every look again: where nothing
 * waits its delay is a negative number, which Node takes for a millisecond, so that each connection woke the process up a thousand
 * times a second for ever.
 */
import { createRequire } from 'node:module';

/** What kafkajs keeps of the requests of one connection. */
interface RequestQueue {
  pending: readonly unknown[];
  /** Until when the broker wants nothing, in milliseconds since 1970. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
}

/** An answer has them looked at as well. */
const LOOK_MS = 10;

const require = createRequire(import.meta.url);

/** Replaces it for all connections; the version of kafkajs is pinned, since it offers no place for that. */
export function quietRequestQueues(): void {
  const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests() {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : LOOK_MS,
    );
  };
}
