/** Looks after the dead letters of one topic in one database: shows how many there are, and ends those whose time is over. */
import type { Collection, Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import type { ProjectorMetrics } from './metrics.ts';
import {
  CENSUS_SHARE,
  type LetterCensus,
  LetterLimits,
  takeCensus,
} from '#shared/projection/dead-letters/write.ts';

const LOOK_MS = 5_000;
const DAY_MS = 86_400_000;
const EXPIRED_AT_ONCE = 1_000;

export interface LettersOptions {
  db: Db;
  environment: string;
  topic: string;
  /** Most bytes of messages that the letters keep. */
  bytes: number;
  /** After how many days a letter expires; `null` never. */
  days: number | null;
  logger: Logger;
  metrics: ProjectorMetrics['letters'];
}

export class Letters {
  readonly limits: LetterLimits;
  readonly #options: LettersOptions;
  readonly #collection: Collection<DeadLetter>;
  readonly #labels: { environment: string; topic: string; database: string };
  readonly #looking: PeriodicTask;

  /** Begins at once. */
  constructor(options: LettersOptions) {
    const { db, environment, topic, bytes, logger } = options;
    this.#options = options;
    this.#labels = { environment, topic, database: db.databaseName };
    this.#collection = db.collection(DEAD_LETTERS);
    this.limits = new LetterLimits(this.#collection, topic, bytes);
    this.#looking = new PeriodicTask({
      run: () => this.#look(),
      everyMs: LOOK_MS,
      failed: (error) => logger.warn({ ...this.#labels, error }, 'dead letters cannot be looked at'),
    });
  }

  /** A generation that was dropped has no letters any longer. */
  async stop(): Promise<void> {
    await this.#looking.stop();
    const { open, bytes, used, oldestSeconds } = this.#options.metrics;
    for (const gauge of [open, bytes, used, oldestSeconds]) gauge.remove(this.#labels);
  }

  async #look(): Promise<number> {
    const began = performance.now();
    const count = () => takeCensus(this.#collection, this.#options.topic);
    const found = await count();
    this.#show((await this.#expire(found)) ? await count() : found);
    return Math.max(LOOK_MS, CENSUS_SHARE * (performance.now() - began));
  }

  #show({ letters, bytes, oldest }: LetterCensus): void {
    const { metrics, bytes: limit } = this.#options;
    metrics.open.set(this.#labels, letters);
    metrics.bytes.set(this.#labels, bytes);
    metrics.used.set(this.#labels, bytes / limit);
    metrics.oldestSeconds.set(this.#labels, oldest === null ? 0 : (Date.now() - oldest.getTime()) / 1_000);
  }

  /** Removes the letters whose time is over, the oldest first. @returns whether there were any. */
  async #expire({ oldest }: LetterCensus): Promise<boolean> {
    const { topic, days } = this.#options;
    if (days === null || oldest === null) return false;
    const before = new Date(Date.now() - days * DAY_MS);
    if (oldest >= before) return false;
    for (;;) {
      const old = await this.#collection
        .find(
          { topic, dead_at: { $lt: before } },
          {
            sort: { dead_at: 1 },
            limit: EXPIRED_AT_ONCE,
            projection: { partition: 1, offset: 1, reason: 1, gathered: 1 },
          },
        )
        .toArray();
      if (old.length === 0) return true;
      const groups = Map.groupBy(old, ({ partition, reason }) => `${partition}/${reason}`);
      for (const group of groups.values()) await this.#remove(group, before);
    }
  }

  /** Removes letters of one partition and reason. Kafka has the messages, and the log says where, before they are removed here. */
  async #remove(group: readonly DeadLetter[], before: Date): Promise<void> {
    const { environment, topic, days, logger, metrics } = this.#options;
    const [first] = group;
    if (first === undefined) return;
    const { partition, reason } = first;
    const facts = {
      partition,
      reason,
      letters: group.reduce((sum, { gathered }) => sum + (gathered?.count ?? 1), 0),
      firstOffset: Math.min(...group.map(({ offset }) => offset)),
      lastOffset: Math.max(...group.map(({ offset, gathered }) => gathered?.last_offset ?? offset)),
    };
    logger.warn({ ...this.#labels, days, ...facts }, 'dead letters expired: nobody decided about them');
    // Another process may remove others at the same time.
    const { deletedCount } = await this.#collection.deleteMany({
      _id: { $in: group.map(({ _id }) => _id) },
      dead_at: { $lt: before },
    });
    metrics.expired.inc({ environment, topic, reason }, deletedCount);
  }
}
