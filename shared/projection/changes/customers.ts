/**
 * Deleted customers take their data along: what names them shows no name, phone or document while they
 * are deleted, and what named them when they were deleted loses it for good (rule R13.3).
 */
import type { Entry } from './decode.ts';

/**
 * Whether a document made at index `at` of the slice must be without its customer's data: the customer was
 * deleted then, or is deleted later in the slice.
 * @param effective the customer's entries in this slice that take effect; `undefined` where there are none.
 * @param deletedBefore whether the customer was deleted when the slice began.
 */
export function isErased(
  effective: readonly Entry[] | undefined,
  deletedBefore: boolean,
  at: number,
): boolean {
  let deleted = deletedBefore;
  for (const entry of effective ?? []) {
    const { deletes } = entry.change;
    if (entry.at < at) deleted = deletes;
    else if (deletes) return true;
  }
  return deleted;
}
