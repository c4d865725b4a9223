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
  findPending,
  heartbeatKey,
  newReconciliation,
  type PendingAccess,
  publishPending,
  reconcileAccess,
} from '#shared/access/grants.ts';
import { StoreDataError, unavailable } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
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

export class RedisGate {
  readonly #options: GateOptions;
  readonly #bounded = deadlineAfter(READ_MS);
  /**
   * The heartbeat of this instance in Redis: a number that each inspection raises by one. If Redis
   * holds a lower number than it last confirmed, it has lost writes.
   */
  readonly #heartbeat: string;
  #number = 0;
  #confirmed = 1;
  #identity: string | null = null;
  /**
   * Kept until an inspection succeeds: the number is written even if the rest of an inspection
   * fails.
   */
  #isCounterBroken = false;
  /** Until this instance has reconciled this server, which lost nothing meanwhile. */
  #needsReconciling = true;
  #permit: Permit | null = null;
  #connection: AbortController | null = null;
  readonly #watching: PeriodicTask;
  #loggedProblem: string | null = null;
  readonly #firstAttempt = Promise.withResolvers<void>();
  /** Resolves after the first attempt to open the gate, successful or not. */
  readonly firstAttempt = this.#firstAttempt.promise;

  constructor(options: GateOptions) {
    this.#options = options;
    const { master, prefix } = options;
    const { redis } = master;
    this.#heartbeat = heartbeatKey(master.local(prefix), randomUUID());
    this.#watching = new PeriodicTask({
      run: () => this.#watch(),
      everyMs: INSPECT_MS,
      retryMs: RETRY_MS,
      failed: (error) =>
        options.logger.warn(
          { error },
          this.isOpen ? 'Redis cannot be inspected' : 'Redis cannot be used yet',
        ),
    });
    redis.on('ready', this.#connected);
    redis.on('close', this.#disconnected);
    if (redis.status === 'ready') this.#connected();
  }

  get isOpen(): boolean {
    return this.#permit !== null;
  }

  /**
   * Lets a request through to Redis.
   * @throws {StoreDataError} `environment_unavailable` while the gate is closed.
   */
  acquire(): Permit {
    if (this.#permit === null) throw closed();
    return this.#permit;
  }

  async stop(): Promise<void> {
    const { redis } = this.#options.master;
    redis.off('ready', this.#connected);
    redis.off('close', this.#disconnected);
    this.#disconnected();
    await this.#watching.stop();
  }

  readonly #connected = () => {
    this.#disconnected();
    this.#connection = new AbortController();
    this.#watching.wake();
  };

  readonly #disconnected = () => {
    this.#connection?.abort();
    this.#shut();
  };

  #shut(): void {
    this.#permit = null;
    this.#options.changed();
  }

  /** Opens the gate for a connection, and watches it for as long as that lasts. */
  async #watch(): Promise<number> {
    const signal = this.#connection?.signal;
    if (signal === undefined || signal.aborted) return INSPECT_MS;
    try {
      if (this.#permit !== null) await this.#inspectOpen(signal);
      if (this.#permit === null) await this.#open(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#firstAttempt.resolve();
    }
    return this.#permit === null ? RETRY_MS : INSPECT_MS;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { master, prefix, control } = this.#options;
    await this.#inspect();
    // A former primary cannot answer this. So the reads that follow see every acknowledged write.
    const current = { readConcern: 'linearizable', projection: { _id: 1 } } as const;
    await this.#bounded((read) => control.keys.findOne({ _id: '' }, { ...current, signal: read }));
    if (this.#needsReconciling) await this.#reconcile(signal);
    // Projectors publish too, but perhaps none is running.
    await publishPending(master, prefix, await this.#findPending());
    // If its identity changed or it lost data meanwhile, everything is repeated.
    if (!(await this.#inspect()) || signal.aborted) return;
    const permit: Permit = {
      master,
      assertValid: () => {
        if (this.#permit !== permit) throw closed();
      },
    };
    this.#needsReconciling = false;
    this.#permit = permit;
    this.#options.changed();
  }

  async #inspectOpen(signal: AbortSignal): Promise<void> {
    const { master, prefix } = this.#options;
    // Both run at the same time, so that the idle process wakes up once.
    const pending = this.#findPending();
    pending.catch(() => undefined);
    try {
      if (await this.#inspect()) return await publishPending(master, prefix, await pending);
    } catch (error) {
      // A server that does not answer admits nobody anyway; one that answers with an error may be
      // loading other data.
      if (error instanceof StoreDataError || error instanceof ReplyError) this.#shut();
      throw error;
    }
    if (!signal.aborted)
      this.#options.logger.warn({}, 'Redis changed identity or lost data: resyncing');
  }

  /**
   * Writes the next heartbeat.
   * @returns whether the server is the same as before and has lost nothing.
   */
  async #inspect(): Promise<boolean> {
    const { redis, slots } = this.#options.master;
    // In this order: an identity that is read after the write shows every change before it.
    const [, server] = await Promise.all([this.#bumpCounter(), describeRedis(redis, slots)]);
    this.#requireSuitable(server);
    const isIntact = !this.#isCounterBroken && this.#identity === server.identity;
    this.#isCounterBroken = false;
    this.#identity = server.identity;
    if (!isIntact) {
      this.#needsReconciling = true;
      this.#shut();
    }
    return isIntact;
  }

  async #bumpCounter(): Promise<void> {
    this.#number += 1;
    const before = await this.#options.master.redis.set(
      this.#heartbeat,
      this.#number,
      'PX',
      HEARTBEAT_MS,
      'GET',
    );
    if (Number(before) < this.#confirmed) this.#isCounterBroken = true;
    this.#confirmed = this.#number;
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { logger, metrics } = this.#options;
    const startedAt = performance.now();
    const found = newReconciliation();
    try {
      await reconcileAccess({ ...this.#options, bounded: this.#bounded, signal }, found);
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

  #findPending(): Promise<PendingAccess> {
    const { control, environments } = this.#options;
    return this.#bounded((signal) => findPending(control, environments, signal));
  }

  #requireSuitable(server: RedisServer): void {
    if (!server.isPrimary) throw unavailable('Redis is a replica: it cannot be written to');
    const problem = evictionProblem(server);
    if (problem !== null && problem !== this.#loggedProblem)
      this.#options.logger.error({}, problem);
    this.#loggedProblem = problem;
  }
}

const closed = () => unavailable('Redis is away, or not reconciled with MongoDB yet');

/**
 * The gates, one for each master of Redis. While one is closed, the stores of the other masters are
 * served.
 */
export class RedisGates {
  readonly #options: GatesOptions;
  readonly #masters: RedisMasters;
  #gates: ReadonlyMap<RedisMaster, RedisGate> = new Map();

  constructor(masters: RedisMasters, options: GatesOptions) {
    this.#options = options;
    this.#masters = masters;
    masters.onChange(() => this.#follow());
    this.#follow();
  }

  /**
   * Resolves after the first attempt to open each gate whose server is connected, successful or
   * not.
   */
  async firstAttempts(): Promise<void> {
    const reached = [...this.#gates].filter(([{ redis }]) => redis.status === 'ready');
    await Promise.all(reached.map(([, { firstAttempt }]) => firstAttempt));
  }

  acquire(key: string): Permit {
    const master = this.#masters.find(key);
    const gate = master === undefined ? undefined : this.#gates.get(master);
    if (gate === undefined) throw slotUnassigned();
    return gate.acquire();
  }

  ping(): Promise<unknown>[] {
    return [...this.#gates].flatMap(([{ redis }, { isOpen }]) => (isOpen ? [redis.ping()] : []));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#gates.values()].map((gate) => gate.stop()));
  }

  /** A master whose slots changed is a new object with a new gate: its content is unknown. */
  #follow(): void {
    const before = this.#gates;
    const gateOf = (master: RedisMaster) =>
      before.get(master) ??
      new RedisGate({ ...this.#options, master, changed: () => this.#updateMetric() });
    this.#gates = new Map(this.#masters.all().map((master) => [master, gateOf(master)]));
    for (const [master, gate] of before) if (!this.#gates.has(master)) void gate.stop();
    this.#updateMetric();
  }

  #updateMetric(): void {
    const areOpen = [...this.#gates.values()].every(({ isOpen }) => isOpen);
    this.#options.metrics.redisGateOpen.set(this.#masters.isWhole() && areOpen ? 1 : 0);
  }
}
