/**
 * Reconciles Redis with MongoDB at startup and every ten minutes, or ten seconds while Redis is
 * ahead. It finds what no service notices at once: a MongoDB that was restored from a backup, keys
 * of Redis that were changed by hand. Requests never wait for it. Unlike the query service it may
 * write to MongoDB.
 */
import { allEnded } from '#shared/waiting.ts';
import {
  applyKeyChange,
  type ControlCollections,
  controlCollections,
} from '#shared/access/access-keys.ts';
import { type GrantedKey, newReconciliation, reconcileAccess } from '#shared/access/grants.ts';
import { type PeriodicTask, startPeriodicTask } from '#shared/periodic-task.ts';
import { slotUnassigned, describeRedis, evictionProblem } from '#shared/redis-masters.ts';
import type { Parts } from '../parts.ts';

type ReconcilerOptions = Pick<Parts, 'config' | 'redis' | 'control' | 'logger' | 'metrics'>;

const INTERVAL_MS = 600_000;
/** While Redis is ahead, so that its metric and alert end soon after that does. */
const AHEAD_MS = 10_000;
/** After a failure: Redis or MongoDB is away. */
const RETRY_MS = 2_000;
const READ_MS = 10_000;

/** Starts at once. */
export function startReconciler(options: ReconcilerOptions): PeriodicTask {
  return startPeriodicTask({
    run: (stopped) => compare(options, stopped),
    everyMs: INTERVAL_MS,
    retryMs: RETRY_MS,
    failed: (error) => options.logger.debug({ error }, 'Redis cannot be compared yet'),
  });
}

/** @returns the milliseconds until the next comparison, if it comes early. */
async function compare(
  options: ReconcilerOptions,
  stopped: AbortSignal,
): Promise<number | undefined> {
  const { redis, logger, metrics } = options;
  const { namePrefix: prefix, environments } = options.config;
  const control = controlCollections(options.control);
  const masters = redis.all();
  if (!redis.isWhole()) throw slotUnassigned();
  // First: while a master is away, every attempt would compare the others again.
  await allEnded(
    masters.map(async (master) => {
      const problem = evictionProblem(await describeRedis(master.redis));
      if (problem !== null) logger.error({}, problem);
    }),
  );
  const found = newReconciliation();
  const bounded = <T>(read: (signal: AbortSignal) => Promise<T>) =>
    read(AbortSignal.timeout(READ_MS));
  for (const master of masters) {
    await reconcileAccess(
      { master, prefix, control, environments, bounded, signal: stopped },
      found,
    );
  }
  const { compared, repaired, sessionsEnded: sessions_ended, ahead, revokedInRedis } = found;
  for (const key of revokedInRedis) await adoptRevocation(control, key);
  // A master whose slots changed meanwhile may have been compared only in part.
  if (redis.all() !== masters) throw slotUnassigned();
  logger.info({ compared, repaired, sessions_ended }, 'Redis was compared with MongoDB');
  metrics.accessAhead.set(ahead - revokedInRedis.length);
  if (ahead === 0) return undefined;
  logger.warn(
    { ahead, revocations_adopted: revokedInRedis.length },
    'Redis has newer changes of access than MongoDB, and keeps them: was MongoDB restored from a backup?',
  );
  return AHEAD_MS;
}

/**
 * A revocation is final: MongoDB forgot it, Redis did not, and its event may never have reached the
 * log.
 */
async function adoptRevocation({ keys }: ControlCollections, key: GrantedKey): Promise<void> {
  await applyKeyChange(keys, key.environment, {
    clientId: key._id,
    storeId: key.store_id,
    // Below every other, so that only the status changes.
    sequence: -1,
    secretHashes: null,
    secretExpiry: {},
    scopes: null,
    status: 'revoked',
  });
}
