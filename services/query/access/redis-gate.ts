/**
 * The gate before one server of Redis. One that was restarted, restored or failed over may have forgotten what was taken
 * away, so nobody passes on a new connection before that server was reconciled with MongoDB, and nobody on one
 * whose server turns out to have become another or to have gone back. Passing costs no command: the gate is kept by the
 * connection.
 */
import { randomUUID } from 'node:crypto';
import { ReplyError } from 'ioredis';
import { trailKey } from '#shared/access/redis-keys.ts';
import { StoreDataError } from '#shared/errors.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import type { RedisMaster } from '#shared/redis-masters.ts';
import { pipelined } from '#shared/redis-pipeline.ts';
import { describeRedis, evictionProblem, type RedisServer } from '#shared/redis-server.ts';
import {
  awaitCurrentPrimary,
  isMarkOf,
  publishWhatIsPending,
  readMarks,
  type Reconciling,
  reconcileOnce,
  whatIsPending,
} from './reconciling.ts';

/** One opening of the gate. */
export interface Passage {
  /** The server to which it lets through. */
  master: RedisMaster;
  /** What Redis answered counts only if the gate is open still. @throws {StoreDataError} `environment_unavailable`. */
  confirm: () => void;
  /**
   * Notes a session that was just given away. Should the next look show that Redis went back meanwhile, it is ended: a secret
   * that had counted again for a moment leaves no token behind.
   */
  noteSession: (name: string) => void;
}

interface Sight {
  server: RedisServer;
  /** Whether every environment has a mark that is trusted. */
  isReconciled: boolean;
}

/** How often an open gate looks whether the server is still the same, and whether MongoDB has something for it. */
const LOOK_MS = 1_000;
const RETRY_MS = 100;
/** How long Redis keeps the trail of an instance that is gone. One that could not look for so long has no trail. */
const TRAIL_MS = 600_000;

export interface GateOptions extends Reconciling {
  /** Called when the gate has opened or closed. */
  changed: () => void;
}

export class RedisGate {
  readonly #options: GateOptions;
  /**
   * The trail of this instance in Redis: a number, one higher with each look. A Redis that shows a lower one than the last that it
   * confirmed has gone back to what it held before, whichever way that came about.
   */
  readonly #trail: string;
  #number = 0;
  #confirmed = 1;
  /** Kept until a look comes to its end: the next number is left even where the rest of a look fails. */
  #trailIsBroken = false;
  #identity: string | null = null;
  /** The names of sessions that were given away since the last look, and of those that a Redis that went back gave. */
  #sessions: string[] = [];
  #doubtful: string[] = [];
  /** Marks that may have come with a copy of Redis: only one that was made since proves anything. */
  readonly #distrusted = new Set<string>();
  #passage: Passage | null = null;
  #connection: AbortController | null = null;
  readonly #watching: PeriodicTask;
  #evictionTold: string | null = null;
  readonly #firstAttempt = Promise.withResolvers<void>();

  constructor(options: GateOptions) {
    this.#options = options;
    const { master, prefix } = options;
    const { redis } = master;
    this.#trail = trailKey(master.local(prefix), randomUUID());
    this.#watching = new PeriodicTask({
      run: () => this.#watch(),
      everyMs: LOOK_MS,
      retryMs: RETRY_MS,
      failed: (error) => this.#tell(error),
    });
    redis.on('ready', this.#connected);
    redis.on('close', this.#disconnected);
    if (redis.status === 'ready') this.#connected();
  }

  /** Resolves when it was tried to open the gate for the first time, whatever came of it. */
  get firstAttempt(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  get isOpen(): boolean {
    return this.#passage !== null;
  }

  /** Lets a request through to Redis. @throws {StoreDataError} `environment_unavailable` while the gate is closed. */
  enter(): Passage {
    if (this.#passage === null) throw closed();
    return this.#passage;
  }

  #newPassage(): Passage {
    const passage: Passage = {
      master: this.#options.master,
      confirm: () => {
        if (this.#passage !== passage) throw closed();
      },
      noteSession: (name) => this.#sessions.push(name),
    };
    return passage;
  }

  /** The sessions that were given away since the last look: nothing has shown yet that they were rightly given. */
  get unproven(): readonly string[] {
    return [...this.#doubtful, ...this.#sessions];
  }

  /** Lets a session be ended before anybody is let through the next time. */
  doubt(name: string): void {
    this.#doubtful.push(name);
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
    this.#passage = null;
    this.#options.changed();
  }

  /** Opens the gate for a connection, and looks after it for as long as that lasts. */
  async #watch(): Promise<number> {
    const signal = this.#connection?.signal;
    if (signal === undefined || signal.aborted) return LOOK_MS;
    try {
      if (this.#passage === null) await this.#open(signal);
      else await this.#look(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#firstAttempt.resolve();
    }
    return this.#passage === null ? RETRY_MS : LOOK_MS;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { server, isReconciled } = await this.#see();
    await awaitCurrentPrimary(this.#options);
    if (!isReconciled) {
      await reconcileOnce(this.#options, server, (mark) => this.#isTrusted(server, mark), signal);
    }
    await publishWhatIsPending(this.#options);
    // It may have become another one, or gone back, while it was reconciled.
    const after = await this.#see();
    if (!after.isReconciled || signal.aborted) return;
    this.#passage = this.#newPassage();
    this.#options.changed();
  }

  async #look(signal: AbortSignal): Promise<void> {
    // Asked at the same time, so that both answers wake the process up together.
    const pending = whatIsPending(this.#options);
    pending.catch(() => undefined);
    let isReconciled: boolean;
    try {
      ({ isReconciled } = await this.#see());
    } catch (error) {
      // A server that does not answer lets nobody pass anyway; one that answers this may be loading another's data.
      if (error instanceof StoreDataError || error instanceof ReplyError) this.#shut();
      throw error;
    }
    if (signal.aborted) return;
    // It may be another one that others have reconciled already.
    if (isReconciled) return publishWhatIsPending(this.#options, pending);
    this.#shut();
    this.#options.logger.warn({}, 'Redis has become another one, was emptied or went back: it is reconciled');
    await this.#open(signal);
  }

  /** Looks at Redis, and leaves a number there that the next look expects (decision 0045). */
  async #see(): Promise<Sight> {
    const { redis, slots } = this.#options.master;
    const noted = this.#sessions.length;
    // In this order: whatever happened before the number is left shows in what is read after it.
    const [, marks, server] = await Promise.all([
      this.#stepOn(),
      readMarks(this.#options),
      describeRedis(redis, slots),
    ]);
    this.#requireSuitable(server);
    const isAnother = this.#identity !== null && this.#identity !== server.identity;
    this.#identity = server.identity;
    const wentOn = !this.#trailIsBroken;
    this.#trailIsBroken = false;
    if (!wentOn && !isAnother) {
      for (const mark of marks) if (mark !== null) this.#distrusted.add(mark);
    }
    const isReconciled = marks.every((mark) => this.#isTrusted(server, mark));
    if (wentOn && !isAnother) this.#sessions.splice(0, noted);
    else this.#turnBack(isReconciled);
    await this.#endDoubtful();
    return { server, isReconciled };
  }

  async #stepOn(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const before = await this.#options.master.redis.set(this.#trail, number, 'PX', TRAIL_MS, 'GET');
    if (Number(before) < this.#confirmed) this.#trailIsBroken = true;
    this.#confirmed = number;
  }

  /** Doubts what was given away since the last look, and lets nobody through who is on the way. */
  #turnBack(isReconciled: boolean): void {
    if (!isReconciled) this.#shut();
    else if (this.isOpen) this.#passage = this.#newPassage();
    this.#doubtful = [...this.#doubtful, ...this.#sessions];
    this.#sessions = [];
  }

  async #endDoubtful(): Promise<void> {
    const ended = this.#doubtful.length;
    const { redis } = this.#options.master;
    await pipelined(
      { find: () => redis },
      this.#doubtful,
      (name) => name,
      (commands, name) => commands.del(name),
    );
    this.#doubtful.splice(0, ended);
  }

  #isTrusted(server: RedisServer, mark: string | null): boolean {
    return isMarkOf(server, mark) && !this.#distrusted.has(mark);
  }

  #requireSuitable(server: RedisServer): void {
    if (!server.isPrimary) {
      throw new StoreDataError('environment_unavailable', 'Redis is a replica: it cannot be written to');
    }
    const problem = evictionProblem(server);
    if (problem !== this.#evictionTold) {
      if (problem !== null) this.#options.logger.error({}, problem);
      this.#evictionTold = problem;
    }
  }

  #tell(error: string): void {
    const message = this.isOpen ? 'Redis could not be looked after' : 'Redis cannot be used yet';
    this.#options.logger.warn({ error }, message);
  }
}

function closed(): StoreDataError {
  return new StoreDataError('environment_unavailable', 'Redis is away, or not reconciled with MongoDB yet');
}
