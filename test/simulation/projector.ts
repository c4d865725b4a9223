/** A projector of the world: the real partition loops on the log and store in memory. */
import type { Db } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';
import { erasePiece } from '#shared/projection/erasure/pieces.ts';
import { findQueued } from '#shared/projection/erasure/erase.ts';
import { giveUpSlice } from '#shared/projection/dead-letters/write.ts';
import { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import { applyWithCheckpoint, claimCheckpoint, whereIs } from '#shared/projection/slice/checkpoint.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { Assignment } from '#projector/log/assignment.ts';
import { PartitionLoop } from '#projector/log/loop.ts';
import type { PartitionLog as LoopLog, PartitionReport } from '#projector/log/edges.ts';
import { findErased } from '#test/slices.ts';
import type { PartitionLog } from './log.ts';
import type { Random } from '../../deploy/testing/random.ts';
import type { Host, Scheduler } from './scheduler.ts';
import type { Client } from './store.ts';

export const TOPIC = 'store-changes.production';
const ALL_EVENTS = { events: 30, bytes: 1_000_000 };
/** The delay until a heartbeat reports a lost partition. */
const FENCED_PAUSE_MS = 500;
/** The cache size in stores: more than there are. */
export const CACHED = 10;

export interface WorldOfProjectors {
  scheduler: Scheduler;
  random: Random;
  logs: readonly PartitionLog[];
  /** The last offset that an operator decided to skip from an offset on; `null` without a decision. */
  skippedTo: (partition: number, from: number) => number | null;
  trace: (what: string) => void;
  /** Called with a broken promise. */
  violate: (what: string) => void;
}

/** Fetches batches for one loop like kafkajs, from the last seek on. */
export class Fetching implements LoopLog {
  loop: Pick<PartitionLoop, 'take'> | null = null;
  readonly #world: Pick<WorldOfProjectors, 'scheduler' | 'random'>;
  readonly #host: Host;
  readonly #log: PartitionLog;
  #offset = 0;
  #seeks = 0;
  #isPaused = true;
  #isBusy = false;
  #wasElsewhere = false;
  readonly #strayChance: number;

  /** @param strayChance the probability of an answer from a wrong offset. */
  constructor(
    world: Pick<WorldOfProjectors, 'scheduler' | 'random'>,
    host: Host,
    log: PartitionLog,
    strayChance = 0.06,
  ) {
    this.#strayChance = strayChance;
    this.#world = world;
    this.#host = host;
    this.#log = log;
  }

  bounds = async () => {
    await this.#pause(2);
    return this.#log.bounds;
  };

  seek = (offset: number) => {
    this.#offset = offset;
    this.#seeks += 1;
    this.wake();
  };

  pause = () => {
    this.#isPaused = true;
  };

  resume = () => {
    this.#isPaused = false;
    this.wake();
  };

  /** Fetches if allowed and messages are available. */
  wake(): void {
    if (this.#isPaused || this.#isBusy || this.loop === null) return;
    this.#isBusy = true;
    void this.#fetch(this.loop).finally(() => {
      this.#isBusy = false;
      if (!this.#isPaused && this.#log.isReadable(this.#offset)) {
        this.#world.scheduler.after(5, this.#host, () => this.wake());
      }
    });
  }

  async #fetch(loop: Pick<PartitionLoop, 'take'>): Promise<void> {
    const seeks = this.#seeks;
    // Sometimes an answer begins too early or too late, as if a seek had no effect. Never twice in a row.
    const { random } = this.#world;
    const elsewhere = this.#wasElsewhere || !random.chance(this.#strayChance) ? 0 : random.below(5) - 2;
    await this.#pause(1 + random.below(5));
    const { start, end } = this.#log;
    const from = elsewhere === 0 ? this.#offset : Math.min(Math.max(this.#offset + elsewhere, start), end);
    const batch = this.#log.fetch(from);
    if (batch === null || this.#seeks !== seeks || this.#isPaused) return;
    this.#wasElsewhere = elsewhere !== 0;
    await loop.take(batch);
  }

  #pause(milliseconds: number): Promise<void> {
    return this.#world.scheduler.clockOf(this.#host).sleep(milliseconds);
  }
}

export class Projector implements Host {
  readonly name: string;
  state: Host['state'] = 'running';
  readonly #world: WorldOfProjectors;
  readonly #client: Client;
  /** Stopped partitions, by `<generation>/<partition>`. */
  readonly stopped = new Set<string>();
  readonly #assignments = new Map<string, Assignment>();
  /** By `<generation>/<partition>`. */
  readonly #fetching = new Map<string, Fetching>();
  readonly #epochs = new Map<string, Epochs>();
  readonly #trees = new TreeCache();
  readonly #readers = new Map<string, ChangeReader>();

  constructor(name: string, world: WorldOfProjectors, client: (host: Host) => Client) {
    this.name = name;
    this.#world = world;
    this.#client = client(this);
  }

  get assigned(): readonly string[] {
    return [...this.#assignments].flatMap(([generation, assignment]) =>
      assignment.partitions().map((partition) => `${generation}/${partition}`),
    );
  }

  /** An assignment of the group: exactly these partitions of these generations. */
  assign(wanted: readonly string[]): void {
    const shares = Map.groupBy(wanted, (key) => key.slice(0, key.indexOf('/')));
    for (const generation of new Set([...this.#assignments.keys(), ...shares.keys()])) {
      const keys = shares.get(generation) ?? [];
      this.#assignmentOf(generation).assign(keys.map((key) => Number(key.slice(generation.length + 1))));
    }
    for (const key of new Set(this.#fetching.keys()).difference(new Set(wanted))) this.#endFetching(key);
  }

  #endFetching(key: string): void {
    const fetching = this.#fetching.get(key);
    if (fetching !== undefined) fetching.loop = null;
    this.#fetching.delete(key);
  }

  #assignmentOf(generation: string): Assignment {
    return this.#of(
      this.#assignments,
      generation,
      () =>
        new Assignment((partition) => {
          const fetching = new Fetching(this.#world, this, logOf(this.#world, partition));
          this.#endFetching(`${generation}/${partition}`);
          this.#fetching.set(`${generation}/${partition}`, fetching);
          return (fetching.loop = this.#createLoop(generation, partition, fetching));
        }, this.#world.scheduler.clockOf(this)),
    );
  }

  /** A log has new or readable messages. */
  wake(): void {
    if (this.state === 'running') for (const fetching of this.#fetching.values()) fetching.wake();
  }

  /** Erases a piece of the queue of its partitions, like the background task. */
  async erase(): Promise<void> {
    for (const [generation, assignment] of this.#assignments) {
      const ours = assignment.partitions();
      const db = this.#client.db(generation) as unknown as Db;
      const epochs = this.#of(this.#epochs, generation, () => this.#newEpochs());
      const queued = (await findQueued(db)).filter(({ partition }) => ours.includes(partition));
      for (const { store_id: storeId, partition } of queued.toSorted((a, b) => (a._id < b._id ? -1 : 1))) {
        const documents = 1 + this.#world.random.below(3);
        const piece = await assignment.runBetweenSlices(partition, (session) =>
          erasePiece(db, session, storeId, documents, epochs),
        );
        if (piece !== null) epochs.committed(piece.given);
      }
    }
  }

  #newEpochs(): Epochs {
    return new Epochs(() => this.#world.random.id(), CACHED);
  }

  #createLoop(generation: string, partition: number, log: Fetching): PartitionLoop {
    const { scheduler, random, trace } = this.#world;
    const clock = scheduler.clockOf(this);
    const db = this.#client.db(generation) as unknown as Db;
    const epochs = this.#of(this.#epochs, generation, () => this.#newEpochs());
    const reader = this.#of(this.#readers, generation, () => new ChangeReader(CACHED));
    const about = `${this.name} ${generation}/${partition}`;
    return new PartitionLoop({
      topic: TOPIC,
      partition,
      limits: ALL_EVENTS,
      fencedPauseMs: FENCED_PAUSE_MS,
      recoveryHint: 'make the read models anew',
      clock,
      log,
      logger: loggerTo((message) => trace(`${about}: ${message}`)),
      random: () => random.below(1_000) / 1_000,
      report: this.#reportOf(`${generation}/${partition}`),
      prepare: () => undefined,
      permits: {
        next: async () => ({ events: 1 + random.below(30), end: () => undefined }),
        noteLag: () => undefined,
      },
      store: {
        claim: (former) =>
          claimCheckpoint(db, TOPIC, partition, former, {
            clock,
            newOwner: () => `${about} ${random.id()}`,
          }),
        whereIs,
        commit: async (claim, slice) => {
          const { position } = claim;
          const { given } = await applyWithCheckpoint(
            claim,
            slice,
            (checkpoint) =>
              applyChanges(db, claim.session, slice, {
                limits: { admit: async (letters) => [...letters] },
                checkpoint,
                findErased,
                epochs,
                reader,
                trees: this.#trees,
              }),
            clock,
          );
          epochs.committed(given);
          const [first] = slice.messages;
          if (first !== undefined && Number(first.offset) < position)
            this.#world.violate(`${about}: ${first.offset} was applied again at ${position}`);
          trace(`${about}: applied up to ${slice.next}`);
        },
        giveUp: async (claim, slice) => {
          await giveUpSlice(claim, slice, db);
        },
        givesUp: true,
        skippedTo: async ({ from }) => this.#world.skippedTo(partition, from),
      },
    });
  }

  #reportOf(key: string): PartitionReport {
    let isEnded = false;
    return {
      ...NO_REPORT,
      stopped: (isStopped) => {
        if (isStopped && !isEnded) this.stopped.add(key);
        else this.stopped.delete(key);
      },
      end: () => {
        isEnded = true;
        this.stopped.delete(key);
      },
    };
  }

  #of<T>(cache: Map<string, T>, generation: string, make: () => T): T {
    const found = cache.get(generation) ?? make();
    cache.set(generation, found);
    return found;
  }
}

function logOf({ logs }: WorldOfProjectors, partition: number): PartitionLog {
  const log = logs[partition];
  if (log === undefined) throw new StoreDataError('not_found', `there is no partition ${partition}`);
  return log;
}

const NO_REPORT: PartitionReport = {
  lag: () => undefined,
  progress: () => undefined,
  stopped: () => undefined,
  failing: () => undefined,
  transaction: () => undefined,
  end: () => undefined,
};

function loggerTo(say: (message: string) => void): Logger {
  const line = (facts: object, message: string) =>
    say(`${message} ${'error' in facts ? String(facts.error) : ''}`.trim());
  return {
    info: () => undefined,
    debug: () => undefined,
    warn: line,
    error: line,
    fatal: line,
  } as unknown as Logger;
}
