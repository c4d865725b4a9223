/**
 * Publishes access to Redis. The transaction that changes a record marks it, and the mark goes once
 * Redis has the record. A sweep publishes what is still marked, so that a kill between the two
 * loses nothing.
 */
import {
  type AccessKey,
  controlCollections,
  type StoreAccess,
} from '#shared/access/access-keys.ts';
import { publishAccess, endRevokedSession, findPending } from '#shared/access/grants.ts';
import { describeError } from '#shared/errors.ts';
import type { RedisRouter } from '#shared/redis-masters.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import type { Parts } from '../parts.ts';

/** How often a sweep looks for marked records. */
const SWEEP_MS = 1_000;
/**
 * Records that are published at the same time: if a master does not answer, they wait for it
 * together.
 */
const AT_ONCE = 20;

type PublisherOptions = Pick<Parts, 'config' | 'control' | 'logger' | 'metrics'> & {
  redis: RedisRouter;
};

export type AccessPublisher = ReturnType<typeof startPublisher>;

/** Starts sweeping at once. */
export function startPublisher({ redis, config, control, logger, metrics }: PublisherOptions) {
  const { namePrefix, environments } = config;
  const collections = controlCollections(control);
  const { keys, stores, revokedSessions } = collections;
  const publish = (record: AccessKey | StoreAccess) =>
    publishAccess(redis, namePrefix, collections, record);

  async function sweep(stopped: AbortSignal): Promise<void> {
    const pending = await findPending(collections, environments);
    const publications = [
      ...[...pending.keys, ...pending.stores].map((record) => () => publish(record)),
      ...pending.sessions.map(
        (session) => () => endRevokedSession(redis, revokedSessions, namePrefix, session),
      ),
    ];
    // No command can publish what belongs to an environment that is not configured.
    const marked = { event_pending: true, environment: { $in: [...environments] } } as const;
    const unlogged = (await keys.countDocuments(marked)) + (await stores.countDocuments(marked));
    let left = publications.length + unlogged;
    const failures = new Set<string>();
    metrics.accessPending.set(left);
    for (let start = 0; start < publications.length && !stopped.aborted; start += AT_ONCE) {
      const publishing = publications.slice(start, start + AT_ONCE).map((publication) =>
        // A master that is away does not keep the others waiting.
        publication().then(
          () => (left -= 1),
          (error: unknown) => failures.add(describeError(error)),
        ),
      );
      await Promise.all(publishing);
    }
    metrics.accessPending.set(left);
    if (failures.size > 0) throw new Error([...failures].join('; '));
  }

  const sweeping = startPeriodicTask({
    run: sweep,
    everyMs: SWEEP_MS,
    failed: (error) => logger.warn({ error }, 'access cannot be published yet'),
  });
  return {
    /** Publishes records that were just committed. The next sweep repeats what fails. */
    publish: (records: readonly (AccessKey | StoreAccess)[]) => {
      for (const record of records) {
        publish(record).catch((error: unknown) => {
          logger.warn({ error: describeError(error) }, 'access is not in Redis yet');
        });
      }
    },
    /** Publishes everything that is still marked. If a sweep runs already, another one follows. */
    sweep: sweeping.wake,
    stop: sweeping.stop,
  };
}
