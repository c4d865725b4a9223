/** Looks after the dead letters of one topic in one database: shows how many there are, and ends those whose time is over. */
import { PeriodicTask } from '#shared/periodic-task.ts';
import { CENSUS_SHARE, LetterLimits, takeCensus } from '#shared/projection/dead-letters/write.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import type { Target } from './log/partition.ts';
import { secondsSince } from './metrics.ts';
import type { Parts } from './parts.ts';

const LOOK_MS = 5_000;
const DAY_MS = 86_400_000;
const EXPIRED_AT_ONCE = 1_000;

/** Begins at once. */
export function startLetters({ config, metrics }: Parts, { db, environment, topic, logger }: Target) {
  const { bytes: limit, days } = config.projector.deadLetters;
  const { open, bytes, used, oldestSeconds, expired } = metrics.letters;
  const labels = { environment, topic, database: db.databaseName };
  const collection = db.collection<DeadLetter>(DEAD_LETTERS);

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

  /** Removes letters of one partition and reason. Kafka has the messages, and the log says where, before they are removed here. */
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
    logger.warn({ ...labels, days, ...facts }, 'dead letters expired: nobody decided about them');
    // Another process may remove others at the same time.
    const ids = group.map(({ _id }) => _id);
    const { deletedCount } = await collection.deleteMany({ _id: { $in: ids }, dead_at: { $lt: before } });
    expired.inc({ environment, topic, reason }, deletedCount);
  }

  const looking = new PeriodicTask({
    run: async () => {
      const began = performance.now();
      if (days !== null) await expireBefore(new Date(Date.now() - days * DAY_MS));
      const found = await takeCensus(collection, topic);
      open.set(labels, found.letters);
      bytes.set(labels, found.bytes);
      used.set(labels, found.bytes / limit);
      oldestSeconds.set(labels, secondsSince(found.oldest));
      return Math.max(LOOK_MS, CENSUS_SHARE * (performance.now() - began));
    },
    everyMs: LOOK_MS,
    failed: (error) => logger.warn({ ...labels, error }, 'dead letters cannot be looked at'),
  });
  return {
    limits: new LetterLimits(collection, topic, limit),
    /** A generation that was dropped has no letters any longer. */
    stop: async () => {
      await looking.stop();
      for (const gauge of [open, bytes, used, oldestSeconds]) gauge.remove(labels);
    },
  };
}
