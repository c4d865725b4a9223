/**
 * The gate to one Redis server (decision 0045). A server that was restarted, restored or failed
 * over may have lost a revocation. So this instance reconciles it with MongoDB before the first
 * request passes, and again when its identity changes or its data goes back. A request that passes
 * costs no command.
 */
import { randomUUID } from 'node:crypto';
import { ReplyError } from 'ioredis';
import type { ControlCollections } from '#shared/access/access-keys.ts';
import {
  findPending as findPendingAccess,
  heartbeatKey,
  newReconciliation,
  type PendingAccess,
  publishPending,
  reconcileAccess,
} from '#shared/access/grants.ts';
import { StoreDataError, unavailable } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import {
  type RedisMaster,
  type RedisMasters,
  describeRedis,
  evictionProblem,
  type RedisServer,
  slotUnassigned,
} from '#shared/redis-masters.ts';
import { deadlineAfter } from '../deadline.ts';
import type { QueryMetrics } from '../metrics.ts';

export interface Permit {
  master: RedisMaster;
  /**
   * Called after Redis answered: the answer counts only if the gate stayed open.
   * @throws {StoreDataError} `environment_unavailable`.
   */
  assertValid: () => void;
}

interface GatesOptions {
  prefix: string;
  control: ControlCollections;
  environments: readonly string[];
  logger: Logger;
  metrics: QueryMetrics;
}

interface GateOptions extends GatesOptions {
  master: RedisMaster;
  changed: () => void;
}

/**
 * How often an open gate checks that the server is the same, and publishes what is pending in
 * MongoDB.
 */
const INSPECT_MS = 1_000;
const RETRY_MS = 100;
/** How long Redis keeps the heartbeat of an instance that stopped. */
const HEARTBEAT_MS = 600_000;
const READ_MS = 2_000;

type RedisGate = ReturnType<typeof redisGate>;

export function redisGate(options: GateOptions) {
  const { master, prefix, control, logger, metrics } = options;
  const { redis } = master;
  const bounded = deadlineAfter(READ_MS);
  /**
   * The heartbeat of this instance in Redis: a number that each inspection raises by one. If Redis
   * holds a lower number than it last confirmed, it has lost writes.
   */
  const heartbeat = heartbeatKey(master.local(prefix), randomUUID());
  let number = 0;
  let confirmed = 1;
  let identity: string | null = null;
  /**
   * Kept until an inspection succeeds: the number is written even if the rest of an inspection
   * fails.
   */
  let isCounterBroken = false;
  /** Until this instance has reconciled this server, which lost nothing meanwhile. */
  let needsReconciling = true;
  let permit: Permit | null = null;
  let connection: AbortController | null = null;
  let loggedProblem: string | null = null;
  /** Resolves after the first attempt to open the gate, successful or not. */
  const firstAttempt = Promise.withResolvers<void>();
  const watching = startPeriodicTask({
    run: watch,
    everyMs: INSPECT_MS,
    retryMs: RETRY_MS,
    failed: (error) =>
      logger.warn(
        { error },
        permit === null ? 'Redis cannot be used yet' : 'Redis cannot be inspected',
      ),
  });
  redis.on('ready', connected);
  redis.on('close', disconnected);
  if (redis.status === 'ready') connected();

  /**
   * Lets a request through to Redis.
   * @throws {StoreDataError} `environment_unavailable` while the gate is closed.
   */
  function acquire(): Permit {
    if (permit === null) throw closed();
    return permit;
  }

  async function stop(): Promise<void> {
    redis.off('ready', connected);
    redis.off('close', disconnected);
    disconnected();
    await watching.stop();
  }

  function connected(): void {
    disconnected();
    connection = new AbortController();
    watching.wake();
  }

  function disconnected(): void {
    connection?.abort();
    shut();
  }

  function shut(): void {
    permit = null;
    options.changed();
  }

  /** Opens the gate for a connection, and watches it for as long as that lasts. */
  async function watch(): Promise<number> {
    const signal = connection?.signal;
    if (signal === undefined || signal.aborted) return INSPECT_MS;
    try {
      if (permit !== null) await inspectOpen(signal);
      if (permit === null) await open(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      firstAttempt.resolve();
    }
    return permit === null ? RETRY_MS : INSPECT_MS;
  }

  async function open(signal: AbortSignal): Promise<void> {
    await inspect();
    // A former primary cannot answer this. So the reads that follow see every acknowledged write.
    const current = { readConcern: 'linearizable', projection: { _id: 1 } } as const;
    await bounded((read) => control.keys.findOne({ _id: '' }, { ...current, signal: read }));
    if (needsReconciling) await reconcile(signal);
    // Projectors publish too, but perhaps none is running.
    await publishPending(master, prefix, await findPending());
    // If its identity changed or it lost data meanwhile, everything is repeated.
    if (!(await inspect()) || signal.aborted) return;
    const made: Permit = {
      master,
      assertValid: () => {
        if (permit !== made) throw closed();
      },
    };
    needsReconciling = false;
    permit = made;
    options.changed();
  }

  async function inspectOpen(signal: AbortSignal): Promise<void> {
    // Both run at the same time, so that the idle process wakes up once.
    const pending = findPending();
    pending.catch(() => undefined);
    try {
      if (await inspect()) return await publishPending(master, prefix, await pending);
    } catch (error) {
      // A server that does not answer admits nobody anyway; one that answers with an error may be
      // loading other data.
      if (error instanceof StoreDataError || error instanceof ReplyError) shut();
      throw error;
    }
    if (!signal.aborted) logger.warn({}, 'Redis changed identity or lost data: resyncing');
  }

  /**
   * Writes the next heartbeat.
   * @returns whether the server is the same as before and has lost nothing.
   */
  async function inspect(): Promise<boolean> {
    // In this order: an identity that is read after the write shows every change before it.
    const [, server] = await Promise.all([bumpCounter(), describeRedis(redis, master.slots)]);
    requireSuitable(server);
    const isIntact = !isCounterBroken && identity === server.identity;
    isCounterBroken = false;
    identity = server.identity;
    if (!isIntact) {
      needsReconciling = true;
      shut();
    }
    return isIntact;
  }

  async function bumpCounter(): Promise<void> {
    number += 1;
    const before = await redis.set(heartbeat, number, 'PX', HEARTBEAT_MS, 'GET');
    if (Number(before) < confirmed) isCounterBroken = true;
    confirmed = number;
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const found = newReconciliation();
    try {
      await reconcileAccess({ ...options, bounded, signal }, found);
    } finally {
      metrics.reconciliationRepairs.inc({ kind: 'record' }, found.repaired);
      metrics.reconciliationRepairs.inc({ kind: 'session' }, found.sessionsEnded);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const { compared, repaired, sessionsEnded, ahead } = found;
    metrics.reconciliationSeconds.observe(seconds);
    logger.info(
      {
        compared,
        repaired,
        sessions_ended: sessionsEnded,
        ahead,
        seconds: Number(seconds.toFixed(3)),
      },
      'Redis is reconciled with MongoDB',
    );
  }

  function findPending(): Promise<PendingAccess> {
    return bounded((signal) => findPendingAccess(control, options.environments, signal));
  }

  function requireSuitable(server: RedisServer): void {
    if (!server.isPrimary) throw unavailable('Redis is a replica: it cannot be written to');
    const problem = evictionProblem(server);
    if (problem !== null && problem !== loggedProblem) logger.error({}, problem);
    loggedProblem = problem;
  }

  return {
    firstAttempt: firstAttempt.promise,
    get isOpen() {
      return permit !== null;
    },
    acquire,
    stop,
  };
}

const closed = () => unavailable('Redis is away, or not reconciled with MongoDB yet');

/**
 * The gates, one for each master of Redis. While one is closed, the stores of the other masters are
 * served.
 */
export type RedisGates = ReturnType<typeof redisGates>;

export function redisGates(masters: RedisMasters, options: GatesOptions) {
  let gates: ReadonlyMap<RedisMaster, RedisGate> = new Map();
  masters.onChange(follow);
  follow();

  /**
   * Resolves after the first attempt to open each gate whose server is connected, successful or
   * not.
   */
  async function firstAttempts(): Promise<void> {
    const reached = [...gates].filter(([{ redis }]) => redis.status === 'ready');
    await Promise.all(reached.map(([, { firstAttempt }]) => firstAttempt));
  }

  function acquire(key: string): Permit {
    const master = masters.find(key);
    const gate = master === undefined ? undefined : gates.get(master);
    if (gate === undefined) throw slotUnassigned();
    return gate.acquire();
  }

  function ping(): Promise<unknown>[] {
    return [...gates].flatMap(([{ redis }, { isOpen }]) => (isOpen ? [redis.ping()] : []));
  }

  async function stop(): Promise<void> {
    await Promise.all([...gates.values()].map((gate) => gate.stop()));
  }

  /** A master whose slots changed is a new object with a new gate: its content is unknown. */
  function follow(): void {
    const before = gates;
    const gateOf = (master: RedisMaster) =>
      before.get(master) ?? redisGate({ ...options, master, changed: updateMetric });
    gates = new Map(masters.all().map((master) => [master, gateOf(master)]));
    for (const [master, gate] of before) if (!gates.has(master)) void gate.stop();
    updateMetric();
  }

  function updateMetric(): void {
    const areOpen = [...gates.values()].every(({ isOpen }) => isOpen);
    options.metrics.redisGateOpen.set(masters.isWhole() && areOpen ? 1 : 0);
  }

  return { firstAttempts, acquire, ping, stop };
}
