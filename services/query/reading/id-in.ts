/** The condition that a document's id is one of several. */

/** One id alone is found without an index scan. */
export function idIn(ids: readonly string[]): string | { $in: string[] } {
  const [id] = ids;
  return ids.length === 1 && id !== undefined ? id : { $in: [...ids] };
}
