/**
 * Counts the dead letters of one topic in one database, for metrics and their bound, and removes
 * those that expired.
 */
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { isAnybody, NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { type LetterLimits, takeCensus } from '#shared/projection/dead-letters/write.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import type { Target } from './log/partition.ts';
import { secondsSince } from './metrics.ts';
import type { Parts } from './parts.ts';

const POLL_MS = 5_000;
/** Counting takes at most a twentieth of the time. */
const CENSUS_SHARE = 20;
const DAY_MS = 86_400_000;
const EXPIRED_AT_ONCE = 1_000;

/** Starts at once. */
export function startLetters(
  { config, metrics }: Parts,
  { db, environment, topic, logger }: Target,
) {
  const { bytes: limit, days, payloads } = config.projector.deadLetters;
  const { open, bytes, used, oldestSeconds, expired } = metrics.letters;
  const labels = { environment, topic, database: db.databaseName };
  const collection = lettersIn(db);
  /** The bytes of all letters, and since the last census of those that were admitted here. */
  let kept: number | null = null;

  async function expireBefore(moment: Date): Promise<void> {
    const projection = { partition: 1, offset: 1, reason: 1, gathered: 1 };
    const options = { sort: { dead_at: 1 }, limit: EXPIRED_AT_ONCE, projection } as const;
    for (;;) {
      const old = await collection.find({ topic, dead_at: { $lt: moment } }, options).toArray();
      if (old.length === 0) return;
      const groups = Map.groupBy(old, ({ partition, reason }) => `${partition}/${reason}`);
      for (const group of groups.values()) await remove(group, moment);
    }
  }

  /**
   * Removes letters of one partition and reason. A log line says first where Kafka has their
   * messages.
   */
  async function remove(group: readonly DeadLetter[], before: Date): Promise<void> {
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
    logger.warn({ ...labels, days, ...facts }, 'dead letters expired without a decision');
    // Another process may remove others at the same time.
    const ids = group.map(({ _id }) => _id);
    const { deletedCount } = await collection.deleteMany({
      _id: { $in: ids },
      dead_at: { $lt: before },
    });
    expired.inc({ environment, topic, reason }, deletedCount);
  }

  const polling = startPeriodicTask({
    run: async () => {
      const began = performance.now();
      if (days > 0) await expireBefore(new Date(Date.now() - days * DAY_MS));
      const found = await takeCensus(collection, topic);
      kept = found.bytes;
      open.set(labels, found.letters);
      bytes.set(labels, found.bytes);
      used.set(labels, found.bytes / limit);
      oldestSeconds.set(labels, secondsSince(found.oldest));
      return Math.max(POLL_MS, CENSUS_SHARE * (performance.now() - began));
    },
    everyMs: POLL_MS,
    failed: (error) => logger.warn({ ...labels, error }, 'dead letters cannot be counted'),
  });
  const limits: LetterLimits = {
    async admit(letters) {
      kept ??= (await takeCensus(collection, topic)).bytes;
      let total = kept;
      const admitted = letters.map((letter) => {
        const isTied = letter.customers?.some(isAnybody) !== true;
        if (total + letter.kept_bytes > limit || !(isTied || payloads === 'all'))
          return { ...letter, ...NOTHING_KEPT };
        total += letter.kept_bytes;
        return letter;
      });
      kept = total;
      return admitted;
    },
  };
  return {
    limits,
    /** Removes the metrics too: a dropped generation has no letters. */
    stop: async () => {
      await polling.stop();
      for (const gauge of [open, bytes, used, oldestSeconds]) gauge.remove(labels);
    },
  };
}
