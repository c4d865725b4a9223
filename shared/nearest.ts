/** Which of some names was probably meant by one that is none of them. */
import { closest, distance } from 'fastest-levenshtein';

/** A name of so many letters may be off by one letter. */
const LETTERS_PER_MISTAKE = 3;

/** The nearest name; `null` where none is near, since a hint that is wrong is worse than none. */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const nearest = closest(given.toLowerCase(), names);
  const letters = Math.max(given.length, nearest.length);
  return distance(given.toLowerCase(), nearest) <= letters / LETTERS_PER_MISTAKE ? nearest : null;
}
