/** Which stores a slice leaves with bodies for another offset than their present one. */
import type { Stamp } from '../../read-models/collections.ts';
import { DEFAULT_OFFSET, EXACT } from '../../read-models/local-time.ts';
import type { Plan, StampChange } from '../changes/plan.ts';

/**
 * The stores whose offset moves, and those that moved and came back: what lay between in the slice stays in that offset.
 * @param before the stamps as they were before the slice.
 */
export function movedStores(
  {
    stamps,
    inserts,
    replacements,
  }: Pick<Plan, 'inserts' | 'replacements'> & { stamps: ReadonlyMap<string, Pick<StampChange, 'offset'>> },
  before: ReadonlyMap<string, Stamp>,
): string[] {
  const present = new Map<string, string>();
  const moved = new Set<string>();
  for (const [storeId, { offset }] of stamps) {
    if (offset === undefined) continue;
    const now = offset ?? DEFAULT_OFFSET;
    present.set(storeId, now);
    const stamp = before.get(storeId);
    // A store of which nothing had arrived has nothing to rewrite.
    if (stamp !== undefined && (stamp.timezone_offset ?? DEFAULT_OFFSET) !== now) moved.add(storeId);
  }
  if (present.size === 0) return [];
  for (const documents of [...inserts.values(), ...replacements.values()]) {
    for (const { store_id, offset } of documents) {
      if (offset !== EXACT && offset !== (present.get(store_id) ?? offset)) moved.add(store_id);
    }
  }
  return [...moved];
}
