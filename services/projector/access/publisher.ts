/**
 * Publishing access to Redis. Records are marked in the transaction that changes them and unmarked once Redis
 * has them, so that nothing is lost between the two, whoever is killed when: what is still marked is
 * published by the next sweep.
 */
import { type AccessKey, controlCollections, type StoreAccess } from '#shared/access/access-keys.ts';
import { publishAccess, endRevokedSession } from '#shared/access/grants.ts';
import { findPending } from '#shared/access/reconcile.ts';
import { describeError } from '#shared/errors.ts';
import type { RedisRouter } from '#shared/redis-masters.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import type { Parts } from '../parts.ts';

/** How often what is still marked is looked for. */
const SWEEP_MS = 1_000;
/** So many records are published side by side: where a master does not answer, these wait for it together. */
const AT_ONCE = 20;

type PublisherOptions = Pick<Parts, 'prefix' | 'control' | 'environments' | 'logger' | 'metrics'> & {
  redis: RedisRouter;
};

export class AccessPublisher {
  readonly #options: PublisherOptions;
  readonly #sweeping: PeriodicTask;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#sweeping = new PeriodicTask({
      run: (stopped) => this.#sweepOnce(stopped),
      everyMs: SWEEP_MS,
      failed: (error) => options.logger.warn({ error }, 'access cannot be published yet'),
    });
  }

  /** Publishes records that were just committed; failures are left to the next sweep. */
  publish(keys: AccessKey[], stores: StoreAccess[]): void {
    const { redis, prefix, control, logger } = this.#options;
    const collections = controlCollections(control);
    for (const record of [...keys, ...stores]) {
      publishAccess(redis, prefix, collections, record).catch((error: unknown) => {
        logger.warn({ error: describeError(error) }, 'access is not in Redis yet');
      });
    }
  }

  /** Publishes everything that is still marked; called again while it runs, it runs once more. */
  sweep(): void {
    this.#sweeping.wake();
  }

  stop(): Promise<void> {
    return this.#sweeping.stop();
  }

  async #sweepOnce(stopped: AbortSignal): Promise<void> {
    const { redis, prefix, control, environments, metrics } = this.#options;
    const collections = controlCollections(control);
    const pending = await findPending(collections, environments);
    const { keys, stores, revokedSessions } = collections;
    const publications = [
      ...[...pending.keys, ...pending.stores].map((record) => () => publishAccess(redis, prefix, collections, record)),
      ...pending.sessions.map((session) => () => endRevokedSession(redis, revokedSessions, prefix, session)),
    ];
    const marked = { event_pending: true } as const;
    const unlogged = await Promise.all([keys.countDocuments(marked), stores.countDocuments(marked)]);
    let left = publications.length + unlogged[0] + unlogged[1];
    const failures: string[] = [];
    metrics.accessPending.set(left);
    for (let start = 0; start < publications.length && !stopped.aborted; start += AT_ONCE) {
      const publishing = publications
        .slice(start, start + AT_ONCE)
        .map((publish) => publish().then(() => null, describeError));
      // What one master cannot be told is no reason for the others to wait.
      const unpublished = (await Promise.all(publishing)).filter((failure) => failure !== null);
      failures.push(...unpublished);
      left -= publishing.length - unpublished.length;
    }
    metrics.accessPending.set(left);
    if (failures.length > 0) throw new Error([...new Set(failures)].join('; '));
  }
}
