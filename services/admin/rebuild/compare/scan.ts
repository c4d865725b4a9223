/** Goes through one range of two generations in one snapshot, and notes what may differ. */
import type { ClientSession } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import { contentOf, differingFields } from './content.ts';
import { type Range, readRecords, readVersions, type Version } from './side.ts';

const AT_ONCE = 100;

export interface Scanned {
  live: number;
  rebuilt: number;
  sampled: number;
  /** Ids of records that differ, perhaps only because events are on their way. */
  suspects: string[];
}

export interface ScanOptions {
  live: Generation;
  rebuilt: Generation;
  session: ClientSession;
  /** Every how-many-th record is compared with all that it answers. */
  stride: number;
  offset: string;
}

/** Compares versions of all records, and the whole of some. */
export async function scanRange(
  { live, rebuilt, session, stride, offset }: ScanOptions,
  range: Range,
): Promise<Scanned> {
  const result: Scanned = { live: 0, rebuilt: 0, sampled: 0, suspects: [] };
  let sample: string[] = [];
  const compareSample = async () => {
    if (sample.length === 0) return;
    const [ours, theirs] = [
      await readRecords(live.db, session, range.collection, sample),
      await readRecords(rebuilt.db, session, range.collection, sample),
    ];
    for (const id of sample) {
      const fields = differingFields(
        contentOf(ours.get(id) ?? {}, offset),
        contentOf(theirs.get(id) ?? {}, offset),
      );
      if (fields.length > 0) result.suspects.push(id);
    }
    result.sampled += sample.length;
    sample = [];
  };
  for await (const [one, other] of pairs(
    readVersions(live.db, session, range),
    readVersions(rebuilt.db, session, range),
  )) {
    if (one !== null) result.live += 1;
    if (other !== null) result.rebuilt += 1;
    if (one?.sequence !== other?.sequence || one === null || other === null) {
      result.suspects.push((one ?? other)?._id ?? '');
    } else if (result.live % stride === 0) {
      sample.push(one._id);
      if (sample.length === AT_ONCE) await compareSample();
    }
  }
  await compareSample();
  return result;
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
