/** Looks after the dead letters of a projector process: shows how many there are, and ends those whose time is over. */
import type { Collection, Db, MongoClient } from 'mongodb';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { DEAD_LETTERS, type DeadLetter, INDEXES } from '#shared/read-models/collections.ts';
import type { ProjectorMetrics } from './metrics.ts';
import {
  CENSUS_SHARE,
  type LetterCensus,
  LetterLimits,
  takeCensus,
} from '#shared/projection/dead-letters/write.ts';

const LOOK_MS = 5_000;
const DAY_MS = 86_400_000;

interface ExpiryOptions {
  control: Db;
  environments: readonly string[];
  /** Those that are projected here: letters of other releases' generations are left to those. */
  generations: () => Iterable<{ environment: string; db: Db }>;
  /** Most bytes of messages that the letters of one topic keep. */
  bytes: number;
  /** After how many days a letter expires; `null` never. */
  days: number | null;
  logger: Logger;
  metrics: ProjectorMetrics['letters'];
}

interface Box {
  environment: string;
  topic: string;
  db: Db;
}

export class LetterExpiry {
  readonly #options: ExpiryOptions;
  readonly #limits = new Map<string, LetterLimits>();
  readonly #looking: PeriodicTask;
  /** By place, as it was counted last. */
  #counted = new Map<string, [Box, LetterCensus]>();

  private constructor(options: ExpiryOptions) {
    this.#options = options;
    this.#looking = new PeriodicTask({
      run: () => this.#look(),
      everyMs: LOOK_MS,
      failed: (error) => options.logger.warn({ error }, 'dead letters cannot be looked at'),
    });
  }

  /** Makes the indexes of the control database's letters, and begins. */
  static async start(options: ExpiryOptions): Promise<LetterExpiry> {
    await letterCollection(options.control).createIndexes(INDEXES[DEAD_LETTERS]);
    return new LetterExpiry(options);
  }

  /** The limits of a topic's letters in one database; always the same object. */
  limits(db: Db, topic: string): LetterLimits {
    const name = placeOf(db, topic);
    const limits =
      this.#limits.get(name) ?? new LetterLimits(letterCollection(db), topic, this.#options.bytes);
    this.#limits.set(name, limits);
    return limits;
  }

  /** Looks at once: other generations are projected now. */
  look(): void {
    this.#looking.wake();
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async #look(): Promise<number> {
    const began = performance.now();
    const counted = new Map<string, [Box, LetterCensus]>();
    /** What servers failed with: of one that does not answer only one box is waited for. */
    const failures = new Map<MongoClient, unknown>();
    for (const box of this.#boxes()) {
      const name = placeOf(box.db, box.topic);
      const before = this.#counted.get(name);
      if (before !== undefined) counted.set(name, before);
      if (failures.has(box.db.client)) continue;
      const count = () => takeCensus(letterCollection(box.db), box.topic);
      try {
        const found = await count();
        counted.set(name, [box, (await this.#expire(box, found)) ? await count() : found]);
      } catch (error) {
        failures.set(box.db.client, error);
      }
    }
    this.#counted = counted;
    this.#show([...counted.values()]);
    const [failure] = failures.values();
    if (failure !== undefined) throw failure;
    return Math.max(LOOK_MS, CENSUS_SHARE * (performance.now() - began));
  }

  #boxes(): Box[] {
    const { control, environments, generations } = this.#options;
    return [
      ...environments.map((environment) => ({ environment, topic: accessTopic(environment), db: control })),
      ...[...generations()].map(({ environment, db }) => ({
        environment,
        topic: changesTopic(environment),
        db,
      })),
    ];
  }

  #show(counted: readonly [Box, LetterCensus][]): void {
    const { bytes: limit, metrics } = this.#options;
    const { open, bytes, used, oldestSeconds } = metrics;
    // A generation that was dropped has no letters any longer.
    for (const gauge of [open, bytes, used, oldestSeconds]) gauge.reset();
    for (const [{ environment, topic, db }, census] of counted) {
      const labels = { environment, topic, database: db.databaseName };
      open.set(labels, census.letters);
      bytes.set(labels, census.bytes);
      used.set(labels, census.bytes / limit);
      const { oldest } = census;
      oldestSeconds.set(labels, oldest === null ? 0 : (Date.now() - oldest.getTime()) / 1_000);
    }
  }

  /** @returns whether there was something to end. */
  async #expire({ environment, topic, db }: Box, { oldest }: LetterCensus): Promise<boolean> {
    const { days, logger, metrics } = this.#options;
    if (days === null || oldest === null) return false;
    const before = new Date(Date.now() - days * DAY_MS);
    if (oldest >= before) return false;
    const removed = await expireLetters(letterCollection(db), topic, before, (expired) => {
      logger.warn(
        { environment, topic, database: db.databaseName, days, ...expired },
        'dead letters expired: nobody decided about them',
      );
    });
    for (const [reason, count] of removed) metrics.expired.inc({ environment, topic, reason }, count);
    return true;
  }
}

function placeOf(db: Db, topic: string): string {
  return `${db.databaseName}/${topic}`;
}

function letterCollection(db: Db): Collection<DeadLetter> {
  return db.collection<DeadLetter>(DEAD_LETTERS);
}

const AT_ONCE = 1_000;

interface Expired {
  partition: number;
  reason: string;
  letters: number;
  firstOffset: number;
  lastOffset: number;
}

/**
 * Removes a topic's letters that died before a time, the oldest first.
 * @param tell called with what is removed, before each step, by partition and reason: Kafka has the messages, and this says where.
 * @returns how many of each reason this call has removed; another process may remove others at the same time.
 */
async function expireLetters(
  collection: Collection<DeadLetter>,
  topic: string,
  before: Date,
  tell: (expired: Expired) => void,
): Promise<Map<string, number>> {
  const removed = new Map<string, number>();
  for (;;) {
    const old = await collection
      .find(
        { topic, dead_at: { $lt: before } },
        {
          sort: { dead_at: 1 },
          limit: AT_ONCE,
          projection: { partition: 1, offset: 1, reason: 1, gathered: 1 },
        },
      )
      .toArray();
    if (old.length === 0) return removed;
    const groups = Map.groupBy(old, ({ partition, reason }) => `${partition}/${reason}`);
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const { partition, reason } = first;
      tell({
        partition,
        reason,
        letters: group.reduce((sum, { gathered }) => sum + (gathered?.count ?? 1), 0),
        firstOffset: Math.min(...group.map(({ offset }) => offset)),
        lastOffset: Math.max(...group.map(({ offset, gathered }) => gathered?.last_offset ?? offset)),
      });
      const { deletedCount } = await collection.deleteMany({
        _id: { $in: group.map(({ _id }) => _id) },
        dead_at: { $lt: before },
      });
      removed.set(reason, (removed.get(reason) ?? 0) + deletedCount);
    }
  }
}
