/** Finds the known name that an unknown one probably meant. */
import { closest, distance } from 'fastest-levenshtein';

/** One typing error is allowed for this many letters. */
const LETTERS_PER_MISTAKE = 3;

/** The nearest name; `null` if none is near, since a wrong hint is worse than none. */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const nearest = closest(given.toLowerCase(), names);
  const letters = Math.max(given.length, nearest.length);
  return distance(given.toLowerCase(), nearest) <= letters / LETTERS_PER_MISTAKE ? nearest : null;
}
