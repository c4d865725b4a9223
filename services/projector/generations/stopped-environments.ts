/**
 * Environments that a mistake keeps from being projected, in part or whole, while the others go on: shown by a gauge, and tried again
 * with growing pauses.
 */
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import type { ProjectorMetrics } from '../metrics.ts';

const PAUSE_MS = { first: 1_000, longest: 60_000 };
/** What has gone on for so long is no longer stopped: some mistakes show only once a consumer runs. */
const SETTLED_MS = 10_000;

export class StoppedEnvironments {
  readonly #logger: Logger;
  readonly #gauge: ProjectorMetrics['environmentStopped'];
  readonly #stopped = new Map<string, { pauseMs: number; retryAt: number }>();

  constructor(logger: Logger, { environmentStopped }: ProjectorMetrics) {
    this.#logger = logger;
    this.#gauge = environmentStopped;
  }

  /** Whether it is too soon to try again. */
  rests(environment: string): boolean {
    return performance.now() < (this.#stopped.get(environment)?.retryAt ?? 0);
  }

  failed(environment: string, error: unknown): void {
    const former = this.#stopped.get(environment)?.pauseMs ?? PAUSE_MS.first / 2;
    const pauseMs = Math.min(former * 2, PAUSE_MS.longest);
    this.#stopped.set(environment, { pauseMs, retryAt: performance.now() + pauseMs });
    this.#gauge.set({ environment }, 1);
    this.#logger.fatal(
      { environment, error: describeError(error), pauseMs },
      'environment stopped by a mistake: it is tried again',
    );
  }

  /** Called when all of an environment is projected. */
  goesOn(environment: string): void {
    const stopped = this.#stopped.get(environment);
    if (stopped === undefined || performance.now() < stopped.retryAt + SETTLED_MS) return;
    this.#stopped.delete(environment);
    this.#gauge.remove({ environment });
    this.#logger.info({ environment }, 'environment goes on');
  }
}
