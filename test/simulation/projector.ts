/** A projector of the world: the real partition loops on the log and store in memory. */
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import { lazy } from '#shared/waiting.ts';
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
import { type Assignment, createAssignment } from '#projector/log/assignment.ts';
import { type PartitionLoop, startLoop } from '#projector/log/loop.ts';
import type { PartitionReport } from '#projector/log/edges.ts';
import { createFetcher, type Fetcher } from '#shared/kafka/fetcher.ts';
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

/** A consumer of the read models of a generation. */
interface Generation {
  assignment: Assignment;
  brokers: () => SimulatedBrokers;
  fetcher: () => Fetcher;
  epochs: Epochs;
  reader: ChangeReader;
}

export class Projector implements Host {
  readonly name: string;
  state: Host['state'] = 'running';
  readonly #world: WorldOfProjectors;
  readonly #client: Client;
  /** Stopped partitions, by `<generation>/<partition>`. */
  readonly stopped = new Set<string>();
  readonly #generations = new Map<string, Generation>();
  readonly #brokers = new Map<string, SimulatedBrokers>();
  readonly #trees = new TreeCache();

  constructor(name: string, world: WorldOfProjectors, client: (host: Host) => Client) {
    this.name = name;
    this.#world = world;
    this.#client = client(this);
  }

  get assigned(): readonly string[] {
    return [...this.#generations].flatMap(([generation, { assignment }]) =>
      [...assignment.positions().keys()].map((partition) => `${generation}/${partition}`),
    );
  }

  /** An assignment of the group: exactly these partitions of these generations. */
  assign(wanted: readonly string[]): void {
    const shares = Map.groupBy(wanted, (key) => key.slice(0, key.indexOf('/')));
    for (const name of new Set([...this.#generations.keys(), ...shares.keys()])) {
      const keys = shares.get(name) ?? [];
      this.#generation(name).assignment.assign(
        keys.map((key) => Number(key.slice(name.length + 1))),
      );
    }
  }

  #generation(name: string): Generation {
    const known = this.#generations.get(name);
    if (known !== undefined) return known;
    const { scheduler, random } = this.#world;
    const clock = scheduler.clockOf(this);
    const brokers = lazy(() => {
      const own = new SimulatedBrokers(this.#world, this);
      this.#brokers.set(name, own);
      return own;
    });
    const generation: Generation = {
      assignment: createAssignment((partition) => this.#createLoop(name, partition), clock),
      brokers,
      fetcher: lazy(() => createFetcher({ brokers: brokers(), clock })),
      epochs: new Epochs(() => random.id(), CACHED),
      reader: new ChangeReader(CACHED),
    };
    this.#generations.set(name, generation);
    return generation;
  }

  /** A log has new or readable messages. */
  wake(): void {
    if (this.state === 'running') for (const brokers of this.#brokers.values()) brokers.wake();
  }

  /** Erases a piece of the queue of its partitions, like the background task. */
  async erase(): Promise<void> {
    for (const [generation, { assignment, epochs }] of this.#generations) {
      const ours = assignment.positions();
      const db = this.#client.db(generation) as unknown as Db;
      const queued = (await findQueued(db)).filter(({ partition }) => ours.has(partition));
      queued.sort((a, b) => (a._id < b._id ? -1 : 1));
      for (const { store_id: storeId, partition } of queued) {
        const documents = 1 + this.#world.random.below(3);
        const piece = await assignment.runBetweenSlices(partition, (session) =>
          erasePiece(db, session, storeId, documents, epochs),
        );
        if (piece !== null) epochs.committed(piece.given);
      }
    }
  }

  #createLoop(generation: string, partition: number): PartitionLoop {
    const { scheduler, random, trace } = this.#world;
    const clock = scheduler.clockOf(this);
    const db = this.#client.db(generation) as unknown as Db;
    const { brokers, fetcher, epochs, reader } = this.#generation(generation);
    const about = `${this.name} ${generation}/${partition}`;
    return startLoop({
      topic: TOPIC,
      partition,
      limits: ALL_EVENTS,
      readBytes: ALL_EVENTS.bytes,
      confirmed: (signal) => clock.sleep(random.below(CONFIRM_MS), signal),
      recoveryHint: 'make the read models anew',
      clock,
      log: {
        bounds: () => brokers().bounds(partition),
        read: (wanted, signal) => fetcher().read(partition, wanted, signal),
      },
      logger: loggerTo((message) => trace(`${about}: ${message}`)),
      random: () => random.below(1_000) / 1_000,
      report: this.#reportOf(`${generation}/${partition}`),
      prepare: nothing,
      permits: {
        next: async () => ({ events: 1 + random.below(30), end: nothing }),
        noteLag: nothing,
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
}

const nothing = () => undefined;

const NO_REPORT: PartitionReport = {
  lag: nothing,
  bounds: nothing,
  progress: nothing,
  stopped: nothing,
  failing: nothing,
  transaction: nothing,
  end: nothing,
};

function loggerTo(say: (message: string) => void): Logger {
  const line = (facts: object, message: string) =>
    say(`${message} ${'error' in facts ? String(facts.error) : ''}`.trim());
  return {
    info: nothing,
    debug: nothing,
    warn: line,
    error: line,
    fatal: line,
  } as unknown as Logger;
}
