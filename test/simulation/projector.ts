/** A projector of the world: the real partition loops on the log and store in memory. */
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';
import { erasePiece } from '#shared/projection/erasure/pieces.ts';
import { findQueued } from '#shared/projection/erasure/erase.ts';
import { giveUpSlice } from '#shared/projection/dead-letters/write.ts';
import { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import {
  applyWithCheckpoint,
  claimCheckpoint,
  isHere,
} from '#shared/projection/slice/checkpoint.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { Assignment } from '#projector/log/assignment.ts';
import { PartitionLoop } from '#projector/log/loop.ts';
import type { PartitionReport } from '#projector/log/edges.ts';
import { Fetcher } from '#shared/kafka/fetcher.ts';
import { findErased } from '#test/slices.ts';
import { type Cluster, SimulatedBrokers } from './brokers.ts';
import type { Host } from './scheduler.ts';
import type { Client } from './store.ts';

export const TOPIC = 'store-changes.production';
const ALL_EVENTS = { events: 30, bytes: 1_000_000 };
/** The most time until the group confirms an assignment. */
const CONFIRM_MS = 500;
/** The cache size in stores: more than there are. */
export const CACHED = 10;

export interface WorldOfProjectors extends Cluster {
  /**
   * The last offset that an operator decided to skip from an offset on; `null` without a decision.
   */
  skippedTo: (partition: number, from: number) => number | null;
  trace: (what: string) => void;
  /** Called with a broken promise. */
  violate: (what: string) => void;
}

export class Projector implements Host {
  readonly name: string;
  state: Host['state'] = 'running';
  readonly #world: WorldOfProjectors;
  readonly #client: Client;
  /** Stopped partitions, by `<generation>/<partition>`. */
  readonly stopped = new Set<string>();
  readonly #assignments = new Map<string, Assignment>();
  /** Of each generation, as each has a consumer. */
  readonly #brokers = new Map<string, SimulatedBrokers>();
  readonly #fetchers = new Map<string, Fetcher>();
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
      [...assignment.positions().keys()].map((partition) => `${generation}/${partition}`),
    );
  }

  /** An assignment of the group: exactly these partitions of these generations. */
  assign(wanted: readonly string[]): void {
    const shares = Map.groupBy(wanted, (key) => key.slice(0, key.indexOf('/')));
    for (const generation of new Set([...this.#assignments.keys(), ...shares.keys()])) {
      const keys = shares.get(generation) ?? [];
      this.#assignmentOf(generation).assign(
        keys.map((key) => Number(key.slice(generation.length + 1))),
      );
    }
  }

  #assignmentOf(generation: string): Assignment {
    const clock = this.#world.scheduler.clockOf(this);
    const make = () =>
      new Assignment((partition) => this.#createLoop(generation, partition), clock);
    return this.#of(this.#assignments, generation, make);
  }

  #brokersOf(generation: string): SimulatedBrokers {
    return this.#of(this.#brokers, generation, () => new SimulatedBrokers(this.#world, this));
  }

  #fetcherOf(generation: string): Fetcher {
    const make = () =>
      new Fetcher({
        brokers: this.#brokersOf(generation),
        clock: this.#world.scheduler.clockOf(this),
      });
    return this.#of(this.#fetchers, generation, make);
  }

  /** A log has new or readable messages. */
  wake(): void {
    if (this.state === 'running') for (const brokers of this.#brokers.values()) brokers.wake();
  }

  /** Erases a piece of the queue of its partitions, like the background task. */
  async erase(): Promise<void> {
    for (const [generation, assignment] of this.#assignments) {
      const ours = assignment.positions();
      const db = this.#client.db(generation) as unknown as Db;
      const epochs = this.#of(this.#epochs, generation, () => this.#newEpochs());
      const queued = (await findQueued(db)).filter(({ partition }) => ours.has(partition));
      for (const { store_id: storeId, partition } of queued.toSorted((a, b) =>
        a._id < b._id ? -1 : 1,
      )) {
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

  #createLoop(generation: string, partition: number): PartitionLoop {
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
      readBytes: ALL_EVENTS.bytes,
      confirmed: (signal) => clock.sleep(random.below(CONFIRM_MS), signal),
      recoveryHint: 'make the read models anew',
      clock,
      log: {
        bounds: () => this.#brokersOf(generation).bounds(partition),
        read: (wanted, signal) => this.#fetcherOf(generation).read(partition, wanted, signal),
      },
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
        isHere,
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

const NO_REPORT: PartitionReport = {
  lag: () => undefined,
  bounds: () => undefined,
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
