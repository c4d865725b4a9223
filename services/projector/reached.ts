/** Waits at a start for a server that cannot be reached, and says for which. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, isUnavailable } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';

const RETRY_MS = 1_000;
const TOLD_EVERY_MS = 60_000;

/** Does something that needs a server, until that could be reached. @throws what is a mistake, and no outage. */
export async function onceReached<T>(server: string, attempt: () => Promise<T>, logger: Logger): Promise<T> {
  const began = performance.now();
  for (let toldAt = Number.NEGATIVE_INFINITY; ; await sleep(RETRY_MS)) {
    try {
      const result = await attempt();
      if (toldAt > 0) logger.info({ server }, `${server} is reached`);
      return result;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const now = performance.now();
      if (now - toldAt < TOLD_EVERY_MS) continue;
      toldAt = now;
      const seconds = Math.round((now - began) / 1_000);
      logger.warn({ server, seconds, error: describeError(error) }, `waiting for ${server}`);
    }
  }
}
