/** The end of dead letters about which nobody decided in time. */
import type { Collection } from 'mongodb';
import type { DeadLetter } from '#shared/read-models/collections.ts';

const AT_ONCE = 1_000;

export interface Expired {
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
export async function expireLetters(
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
