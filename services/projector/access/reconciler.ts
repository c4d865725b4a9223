/**
 * Reconciles Redis with MongoDB at startup and every ten minutes. It finds what no service notices at once: a MongoDB that was restored
 * from a backup, keys of Redis that were changed by hand. Requests never wait for it. Unlike the query service it may write to MongoDB.
 */
import { allEnded } from '#shared/waiting.ts';
import { applyKeyChange, type ControlCollections, controlCollections } from '#shared/access/access-keys.ts';
import { type GrantedKey, type Reconciliation, reconcileAccess } from '#shared/access/grants.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { slotUnassigned, type RedisMaster, describeRedis, evictionProblem } from '#shared/redis-masters.ts';
import type { Parts } from '../parts.ts';

type ReconcilerOptions = Pick<Parts, 'config' | 'redis' | 'control' | 'logger' | 'metrics'>;

const INTERVAL_MS = 600_000;
/** After a failure: Redis or MongoDB is away. */
const RETRY_MS = 2_000;
const READ_MS = 10_000;

/** Starts at once. */
export function startReconciler(options: ReconcilerOptions): PeriodicTask {
  return new PeriodicTask({
    run: (stopped) => compare(options, stopped),
    everyMs: INTERVAL_MS,
    retryMs: RETRY_MS,
    failed: (error) => options.logger.debug({ error }, 'Redis cannot be compared yet'),
  });
}

async function compare(options: ReconcilerOptions, stopped: AbortSignal): Promise<void> {
  const { redis, logger, metrics } = options;
  const masters = redis.all();
  if (!redis.isWhole()) throw slotUnassigned();
  // First: while a master is away, every attempt would compare the others again.
  await allEnded(masters.map((master) => checkServer(master, logger)));
  const found: Reconciliation[] = [];
  for (const master of masters) found.push(await compareWith(master, options, stopped));
  // A master whose slots changed meanwhile may have been compared only in part.
  if (redis.all() !== masters) throw slotUnassigned();
  const sumOf = (name: 'compared' | 'repaired' | 'sessionsEnded' | 'ahead') =>
    found.reduce((sum, one) => sum + one[name], 0);
  const [compared, repaired, sessions_ended] = [sumOf('compared'), sumOf('repaired'), sumOf('sessionsEnded')];
  logger.info({ compared, repaired, sessions_ended }, 'Redis was compared with MongoDB');
  const ahead = sumOf('ahead');
  const adopted = found.flatMap(({ revokedInRedis }) => revokedInRedis).length;
  metrics.accessAhead.set(ahead - adopted);
  if (ahead === 0) return;
  logger.warn(
    { ahead, revocations_adopted: adopted },
    'Redis has newer changes of access than MongoDB, and keeps them: was MongoDB restored from a backup?',
  );
}

async function checkServer({ redis }: RedisMaster, logger: Logger): Promise<void> {
  const problem = evictionProblem(await describeRedis(redis));
  if (problem !== null) logger.error({}, problem);
}

async function compareWith(
  master: RedisMaster,
  options: ReconcilerOptions,
  stopped: AbortSignal,
): Promise<Reconciliation> {
  const control = controlCollections(options.control);
  const found = await reconcileAccess({
    prefix: options.config.namePrefix,
    environments: options.config.environments,
    master,
    control,
    bounded: (read) => read(AbortSignal.timeout(READ_MS)),
    signal: stopped,
  });
  for (const key of found.revokedInRedis) await adoptRevocation(control, key);
  return found;
}

/** A revocation is final: MongoDB forgot it, Redis did not, and its event may never have reached the log. */
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
