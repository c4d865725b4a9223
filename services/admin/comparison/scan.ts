/** Compares two sides, each read in its own session, range by range: every record's version, and the content of some. */
import { type Content, contentOf, differingFields } from './content.ts';
import { type Range, readRecords, readVersions, type Side, type Version } from './ranges.ts';

const AT_ONCE = 100;

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
 * @param stride of every how-many-th record the whole content is compared.
 * @param offset for which bodies are compared.
 */
export async function scanRange(
  expected: Side,
  actual: Side,
  range: Range,
  { stride, offset }: { stride: number; offset: string },
): Promise<Scanned> {
  const result: Scanned = { expected: 0, actual: 0, sampled: 0, differing: [] };
  let sample: string[] = [];
  const compareSample = async () => {
    if (sample.length === 0) return;
    const records = sample.map((id) => ({ id, offset }));
    for (const { id, one, other } of await readContents(expected, actual, range.collection, records)) {
      if (differingFields(one, other).length > 0) result.differing.push(id);
    }
    result.sampled += sample.length;
    sample = [];
  };
  for await (const [one, other] of pairs(readVersions(expected, range), readVersions(actual, range))) {
    if (one !== null) result.expected += 1;
    if (other !== null) result.actual += 1;
    if (one?.sequence !== other?.sequence || one === null || other === null) {
      result.differing.push((one ?? other)?._id ?? '');
    } else if (result.expected % stride === 0) {
      sample.push(one._id);
      if (sample.length === AT_ONCE) await compareSample();
    }
  }
  await compareSample();
  return result;
}

/** One record as both sides show it; empty where a side does not have it. */
export interface Contents {
  id: string;
  one: Content;
  other: Content;
}

/** Some records with all that they answer, each under an offset. */
export async function readContents(
  expected: Side,
  actual: Side,
  collection: string,
  records: readonly { id: string; offset: string }[],
): Promise<Contents[]> {
  const ids = records.map(({ id }) => id);
  const ours = await readRecords(expected, collection, ids);
  const theirs = await readRecords(actual, collection, ids);
  return records.map(({ id, offset }) => ({
    id,
    one: contentOf(ours.get(id) ?? {}, offset),
    other: contentOf(theirs.get(id) ?? {}, offset),
  }));
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
