/** Reconciling a Redis server before it is used: by one instance for all that have connected to it. */
import { randomUUID } from 'node:crypto';
import type { ControlCollections } from '#shared/access/access-keys.ts';
import { findPending, type PendingAccess, publishPending } from '#shared/access/pending.ts';
import { reconcileAccess } from '#shared/access/reconcile.ts';
import { reconciledKey, reconcilingKey, reconcilingMarkKey } from '#shared/access/redis-keys.ts';
import type { Logger } from '#shared/logging.ts';
import type { RedisMaster } from '#shared/redis-masters.ts';
import { execute } from '#shared/redis-pipeline.ts';
import type { RedisServer } from '#shared/redis-server.ts';
import { pause } from '#shared/pause.ts';
import { boundedBy } from '../deadline.ts';
import type { QueryMetrics } from '../metrics.ts';

export interface Reconciling {
  master: RedisMaster;
  prefix: string;
  control: ControlCollections;
  environments: readonly string[];
  logger: Logger;
  metrics: QueryMetrics;
}

/** An instance that works renews it with every batch; one that died holds the others up for no longer than this. */
const LOCK_MS = 2_000;
const POLL_MS = 50;
/** How long a mark lies in Redis without its name: longer than any reconciliation takes. */
const MARK_MS = 600_000;
/** For one batch of reads from MongoDB, or what is pending there. */
const READ_MS = 2_000;

/** The marks of the environments, `null` where there is none. */
export function readMarks({ master, prefix, environments }: Reconciling): Promise<(string | null)[]> {
  const local = master.local(prefix);
  return Promise.all(environments.map((environment) => master.redis.get(reconciledKey(local, environment))));
}

/** Whether a mark is of a reconciliation of just this server, as it was called when that began. */
export function isMarkOf({ identity }: RedisServer, mark: string | null): mark is string {
  return mark?.startsWith(`${identity}/`) === true;
}

/**
 * Resolves when the server is reconciled, by this instance or by another. The lock only saves work: two at once
 * would do each other no harm.
 * @param isTrusted whether a mark proves that.
 * @throws when Redis or MongoDB is away, Redis went back meanwhile, or the signal is aborted.
 */
export async function reconcileOnce(
  options: Reconciling,
  server: RedisServer,
  isTrusted: (mark: string | null) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { master, prefix } = options;
  const { redis } = master;
  const lock = reconcilingKey(master.local(prefix), server.runId);
  const isReconciled = async () => (await readMarks(options)).every(isTrusted);
  while (!(await isReconciled())) {
    signal.throwIfAborted();
    if ((await redis.set(lock, randomUUID(), 'PX', LOCK_MS, 'NX')) === 'OK') {
      try {
        // Somebody may have finished between the look and the lock.
        if (await isReconciled()) return;
        await reconcile(options, server, async () => {
          signal.throwIfAborted();
          await redis.pexpire(lock, LOCK_MS);
        });
        return;
      } finally {
        await redis.del(lock).catch(() => undefined);
      }
    } else {
      // One that came with a copy of Redis may have lost its end.
      if ((await redis.pttl(lock)) === -1) await redis.pexpire(lock, LOCK_MS);
      await pause(POLL_MS, signal);
    }
  }
}

async function reconcile(
  options: Reconciling,
  { identity }: RedisServer,
  onBatch: () => Promise<void>,
): Promise<void> {
  const { master, prefix, environments, logger, metrics } = options;
  const { redis } = master;
  const local = master.local(prefix);
  const startedAt = performance.now();
  // The mark lies in Redis from before the work on, and gets its name after it. If Redis goes back meanwhile, it is gone.
  const reconciliation = randomUUID();
  const unnamed = (environment: string) => reconcilingMarkKey(local, environment, reconciliation);
  const marks = redis.pipeline();
  for (const environment of environments) {
    marks.set(unnamed(environment), `${identity}/${reconciliation}`, 'PX', MARK_MS);
  }
  await execute(marks);
  const found = await reconcileAccess({ ...options, bounded: boundedBy(READ_MS), onBatch });
  await onBatch();
  const naming = redis.pipeline();
  for (const environment of environments) {
    const name = reconciledKey(local, environment);
    naming.rename(unnamed(environment), name).persist(name);
  }
  await execute(naming);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { compared, repaired, sessionsEnded, ahead } = found;
  metrics.reconciliationSeconds.observe(seconds);
  metrics.reconciliationRepairs.inc({ kind: 'record' }, repaired);
  metrics.reconciliationRepairs.inc({ kind: 'session' }, sessionsEnded);
  logger.info(
    { compared, repaired, sessions_ended: sessionsEnded, ahead, seconds: Number(seconds.toFixed(3)) },
    'Redis is reconciled with MongoDB',
  );
}

/**
 * Makes sure that what is read from MongoDB next holds all that was acknowledged before. A former primary that has
 * not noticed yet cannot answer this.
 */
export async function awaitCurrentPrimary({ control }: Reconciling): Promise<void> {
  const options = { readConcern: 'linearizable', projection: { _id: 1 } } as const;
  await boundedBy(READ_MS)((signal) => control.keys.findOne({ _id: '' }, { ...options, signal }));
}

/** What MongoDB has marked for Redis. */
export function whatIsPending({ control, environments }: Reconciling): Promise<PendingAccess> {
  return boundedBy(READ_MS)((signal) => findPending(control, environments, signal));
}

/** Brings it to Redis, in case that nobody else is there to do so. */
export async function publishWhatIsPending(
  options: Reconciling,
  pending: Promise<PendingAccess> = whatIsPending(options),
): Promise<void> {
  await publishPending(options.master, options.prefix, await pending);
}
