/** Compares two sides, each read in its own session, range by range: every record's version, and the content of some. */
import { type Content, contentOf, differingFields } from './content.ts';
import { type Range, readRecords, readVersions, type Side, type Version } from './ranges.ts';

const AT_ONCE = 200;

/** What differs: which side lacks the record, or whether versions or the contents of one version are different. */
export type DifferenceKind = 'missing' | 'added' | 'version' | 'content';

export interface Scanned {
  /** Records of each side. */
  expected: number;
  actual: number;
  /** Records whose whole content was compared. */
  sampled: number;
  differing: string[];
}

/**
 * Compares the records of a range.
 * @param stride the whole content is compared of one record in so many.
 * @param offset for which bodies are compared.
 */
export async function scanRange(
  expected: Side,
  actual: Side,
  range: Range,
  { stride, offset }: { stride: number; offset: string },
): Promise<Scanned> {
  const result: Scanned = { expected: 0, actual: 0, sampled: 0, differing: [] };
  const sample: Wanted[] = [];
  const compareSample = async () => {
    for await (const { record, one, other } of readContents(expected, actual, range.collection, sample)) {
      if (differingFields(one, other).length > 0) result.differing.push(record.id);
    }
    result.sampled += sample.length;
    sample.length = 0;
  };
  for await (const [one, other] of pairs(readVersions(expected, range), readVersions(actual, range))) {
    if (one !== null) result.expected += 1;
    if (other !== null) result.actual += 1;
    if (one?.sequence !== other?.sequence || one === null || other === null) {
      result.differing.push((one ?? other)?._id ?? '');
    } else if (result.expected % stride === 0) {
      sample.push({ id: one._id, offset });
      if (sample.length === AT_ONCE) await compareSample();
    }
  }
  await compareSample();
  return result;
}

/** A record that is compared, its bodies under an offset. */
export interface Wanted {
  id: string;
  offset: string;
}

/** One record as both sides show it; empty where a side does not have it. */
export interface Contents {
  one: Content;
  other: Content;
}

/** Records of one collection with all that they answer, in their order. */
export async function* readContents<W extends Wanted>(
  expected: Side,
  actual: Side,
  collection: string,
  records: readonly W[],
): AsyncGenerator<Contents & { record: W }> {
  for (let start = 0; start < records.length; start += AT_ONCE) {
    const part = records.slice(start, start + AT_ONCE);
    const ids = part.map(({ id }) => id);
    const ours = await readRecords(expected, collection, ids);
    const theirs = await readRecords(actual, collection, ids);
    for (const record of part) {
      yield {
        record,
        one: contentOf(ours.get(record.id) ?? {}, record.offset),
        other: contentOf(theirs.get(record.id) ?? {}, record.offset),
      };
    }
  }
}

/** What differs in a record that differs. */
export function kindOf({ one, other }: Contents): DifferenceKind {
  if (other.size === 0) return 'missing';
  if (one.size === 0) return 'added';
  return one.get('sequence') === other.get('sequence') ? 'content' : 'version';
}

/** Walks two ordered lists side by side. */
async function* pairs(
  first: AsyncIterable<Version>,
  second: AsyncIterable<Version>,
): AsyncGenerator<[Version | null, Version | null]> {
  const others = second[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await others.next();
    return done === true ? null : value;
  };
  let other = await next();
  for await (const one of first) {
    while (other !== null && compareBytes(other._id, one._id) < 0) {
      yield [null, other];
      other = await next();
    }
    if (other?._id === one._id) {
      yield [one, other];
      other = await next();
    } else {
      yield [one, null];
    }
  }
  while (other !== null) {
    yield [null, other];
    other = await next();
  }
}

/** As MongoDB orders ids, which are ASCII. */
function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
