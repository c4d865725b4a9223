/**
 * Gathers letters, which come in the order of their log, into slices of one partition each. A letter that stands for a batch
 * is a slice of its own.
 */
import type { LetterSummary } from './selection.ts';

const SLICE_LETTERS = 100;
const SLICE_BYTES = 4_194_304;

/** Yields slices of ids. */
export async function* letterSlices(letters: AsyncIterable<LetterSummary>): AsyncGenerator<LetterSummary[]> {
  let slice: LetterSummary[] = [];
  let bytes = 0;
  for await (const letter of letters) {
    const [first] = slice;
    const fits =
      first === undefined ||
      (first.topic === letter.topic &&
        first.partition === letter.partition &&
        slice.length < SLICE_LETTERS &&
        first.gathered === undefined &&
        letter.gathered === undefined &&
        bytes + letter.value_bytes <= SLICE_BYTES);
    if (!fits) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(letter);
    bytes += letter.value_bytes;
  }
  if (slice.length > 0) yield slice;
}
