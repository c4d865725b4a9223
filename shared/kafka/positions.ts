/** Compares the offsets of a topic's log with the positions of checkpoints. */

/**
 * The bounds of a partition's log for readers of committed messages: open transactions hide what
 * lies behind its end.
 */
export interface PartitionBounds {
  start: number;
  end: number;
}

/** By partition. */
export type LogBounds = ReadonlyMap<number, PartitionBounds>;

/** By partition: the offset that is applied next. */
export type Positions = ReadonlyMap<number, number>;

export function endsOf(bounds: LogBounds): Positions {
  return new Map([...bounds].map(([partition, { end }]) => [partition, end]));
}

export function hasReached(positions: Positions, others: Positions): boolean {
  return missingBetween(positions, others) === 0;
}

export function missingBetween(positions: Positions, others: Positions): number {
  return [...others].reduce(
    (sum, [partition, position]) => sum + Math.max(0, position - (positions.get(partition) ?? 0)),
    0,
  );
}

/**
 * Positions, at most the end of the log: those of a generation that was made from another log may
 * be higher.
 */
export function reachable(positions: Positions, bounds: LogBounds): Positions {
  return new Map(
    [...positions].map(([partition, position]) => [
      partition,
      Math.min(position, bounds.get(partition)?.end ?? 0),
    ]),
  );
}

export function countApplied(
  positions: Positions,
  bounds: LogBounds,
): { applied: number; total: number } {
  let applied = 0;
  let total = 0;
  for (const [partition, { start, end }] of bounds) {
    total += end - start;
    applied += Math.min(Math.max((positions.get(partition) ?? 0) - start, 0), end - start);
  }
  return { applied, total };
}

/**
 * The messages of a partition that are not applied; `null` if the position belongs to another
 * log.
 */
export function lagOf(position: number | null, { start, end }: PartitionBounds): number | null {
  const next = position ?? start;
  return next <= end ? end - next : null;
}

/** The sum of lags; `null` if one of them is unknown, which is not 0. */
export function sumOfLags(lags: readonly (number | null)[]): number | null {
  return lags.reduce((sum, lag) => (sum === null || lag === null ? null : sum + lag), 0);
}

export function sumOf(positions: Positions): number {
  return positions.values().reduce((sum, position) => sum + position, 0);
}
