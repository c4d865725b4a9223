/**
 * How quickly a side works, from what was seen of it again and again: creations are counted until the first partition
 * comes to its changes, changes from when the last partition has come to them until the first has none left.
 */

/** What was seen at one moment. */
export interface Sight {
  /** Milliseconds of a steady clock. */
  at: number;
  /** Events written of each partition, in the order of partitions. */
  positions: number[];
  writerCpu: number;
  mongodCpu: number | null;
}

export interface Pace {
  events: number;
  events_per_second: number;
  /** Seconds of processor time for 1,000 events. */
  writer_cpu: number;
  /** `null` where MongoDB does not run on this machine. */
  mongod_cpu: number | null;
}

export interface Phases {
  created: Pace;
  changed: Pace;
  /** From the first event to the last, the ends included where not all partitions have work. */
  all: Pace;
}

/** @param boundaries where changes begin in each partition; there are as many changes as creations. */
export function phasesOf(sights: readonly Sight[], boundaries: readonly number[]): Phases {
  const begun = sights.findIndex(({ positions }) => totalOf(positions) > 0);
  const every = (share: number) => (sight: Sight) =>
    boundaries.every((boundary, partition) => (sight.positions[partition] ?? 0) >= share * boundary);
  const some = (share: number) => (sight: Sight) =>
    boundaries.some((boundary, partition) => (sight.positions[partition] ?? 0) >= share * boundary);
  const first = (test: (sight: Sight) => boolean) => sights.findIndex(test);
  // The sight before the first that is too late.
  const created = between(sights, begun, Math.max(first(some(1)) - 1, begun + 1));
  const changesBegin = first(every(1));
  const changed = between(sights, changesBegin, Math.max(first(some(2)) - 1, changesBegin + 1));
  return { created, changed, all: between(sights, begun, first(every(2))) };
}

function between(sights: readonly Sight[], from: number, to: number): Pace {
  const [a, b] = [sights[from], sights[to]];
  if (a === undefined || b === undefined) throw new Error('too little was seen: take more orders');
  const events = totalOf(b.positions) - totalOf(a.positions);
  const perThousand = (seconds: number) => (seconds * 1_000) / events;
  return {
    events,
    events_per_second: (events * 1_000) / (b.at - a.at),
    writer_cpu: perThousand(b.writerCpu - a.writerCpu),
    mongod_cpu: a.mongodCpu === null || b.mongodCpu === null ? null : perThousand(b.mongodCpu - a.mongodCpu),
  };
}

export function totalOf(positions: readonly number[]): number {
  return positions.reduce((sum, position) => sum + position, 0);
}
