/**
 * Compares the messages that we and the Java client read from the same bytes. `expectation` has the
 * rules for intended differences; any other difference is an error.
 */
import { spawn } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { createUnpacking, DecodingBudget } from '#shared/kafka/unpacking.ts';
import { decodeRecordSet } from '#shared/kafka/record-set.ts';
import { javaWith } from '#test/java-packages.ts';
import { randomBatch } from './random-batches.ts';

const KAFKA = join(import.meta.dirname, '../../../deploy/local/stack/kafka');
/** The last millisecond that a `Date` can hold. */
const MAX_TIME = 8.64e15;

interface ReadRecord {
  offset: string;
  timestamp: string;
  key: string | null;
  value: string | null;
  /** Header names and Base64 values, ordered by name. */
  headers: [string, string | null][];
}

/** The records of a batch, or the reason for their absence. */
type Read = { records: ReadRecord[] } | { error: string };

export interface Comparison {
  /** Batches with records that both read. */
  read: number;
  /** Batches that both refuse. */
  refused: number;
  /** Batches with an intended difference, by rule. */
  onPurpose: Record<string, number>;
}

/**
 * @throws with the batch in hex and both readings at the first difference. Rejects if Java or a jar
 * is unavailable.
 */
export async function compareWithJava(seed: number, batches: number): Promise<Comparison> {
  const samples = fc.sample(randomBatch, { seed, numRuns: batches });
  const java = await readWithJava(samples.map(({ batch }) => batch));
  const result: Comparison = { read: 0, refused: 0, onPurpose: {} };
  for (const [at, { batch, isPackedChanged }] of samples.entries()) {
    const [theirs, ours] = [java[at] ?? { error: 'no line' }, await readOurselves(batch)];
    const { rule, expected } = expectation(batch, theirs, ours, isPackedChanged);
    const isSame = 'error' in expected ? 'error' in ours : isDeepStrictEqual(ours, expected);
    if (!isSame) {
      const said = JSON.stringify({ seed, at, java: theirs, expected, ours }, null, 1);
      throw new Error(`a batch is read differently: ${batch.toString('hex')}\n${said}`);
    }
    if (rule !== null) result.onPurpose[rule] = (result.onPurpose[rule] ?? 0) + 1;
    if ('error' in ours) result.refused += 1;
    else if (ours.records.length > 0) result.read += 1;
  }
  return result;
}

/** The messages that we must read: those of Java, unless a rule says otherwise. */
function expectation(
  batch: Buffer,
  java: Read,
  ours: Read,
  isPackedChanged: boolean,
): { rule: string | null; expected: Read } {
  const baseOffset = Number(batch.readBigInt64BE(0));
  const lastOffsetDelta = batch.readInt32BE(23);
  const count = batch.readInt32BE(57);
  const refused = (error: string) => ({ rule: error, expected: { error } });
  if ('error' in java) {
    // Java reads beyond the last record only to verify the end.
    const isBehind = /^KafkaException: Error checking|still remaining|FAILED_TO_UNCOMPRESS/.test(
      java.error,
    );
    const isRead =
      isBehind &&
      isPackedChanged &&
      'records' in ours &&
      ours.records.length === Math.max(0, count);
    return isRead
      ? { rule: 'bytes behind what is compressed are not looked at', expected: ours }
      : { rule: null, expected: java };
  }
  if (isPackedChanged && 'error' in ours && ours.error.includes('cannot be unpacked')) {
    return refused('bytes behind what is compressed are refused');
  }
  // Java ignores the content of a batch whose header says that it has no records.
  if (count === 0 && 'error' in ours) return refused('bytes without records');
  if (count === lastOffsetDelta + 1) {
    const records = java.records.map((record, index) => ({
      ...record,
      offset: String(baseOffset + index),
    }));
    const isMoved = !isDeepStrictEqual(records, java.records);
    return { rule: isMoved ? 'the place is the offset' : null, expected: { records } };
  }
  let before = baseOffset - 1;
  for (const { offset } of java.records) {
    if (Number(offset) <= before || Number(offset) > baseOffset + lastOffsetDelta) {
      return refused('offsets in a batch with gaps do not rise');
    }
    before = Number(offset);
  }
  return { rule: null, expected: java };
}

const UNBOUNDED = { bytes: Infinity, milliseconds: Infinity };

async function readOurselves(batch: Buffer): Promise<Read> {
  const fetched = { fetchOffset: Number(batch.readBigInt64BE(0)), abortedTransactions: [] };
  const { messages } = await decodeRecordSet(
    batch,
    { ...fetched, mostBytes: Infinity },
    { unpacking: createUnpacking(), budget: new DecodingBudget(UNBOUNDED) },
  );
  const unreadable = messages.map(({ unreadable }) => unreadable).find((one) => one !== undefined);
  if (unreadable !== undefined) return { error: `${unreadable.reason}: ${unreadable.detail}` };
  return {
    records: messages.map(({ offset, timestamp, key, value, headers }) => ({
      offset,
      timestamp: exactly(batch, timestamp),
      key: key?.toString('base64') ?? null,
      value: value?.toString('base64') ?? null,
      headers: byName(
        Object.entries(headers ?? {}).flatMap(([header, values]) =>
          [values]
            .flat()
            .map((one): ReadRecord['headers'][number] => [
              named(Buffer.from(header)),
              one?.toString('base64') ?? null,
            ]),
        ),
      ),
    })),
  };
}

async function readWithJava(batches: readonly Buffer[]): Promise<Read[]> {
  const { file, args } = await javaWith({
    title: 'Kafka 4.3.1',
    name: 'kafka-4.3.1',
    pom: join(KAFKA, 'pom.xml'),
    checksums: join(KAFKA, 'jars.sha256'),
    downloadBytes: 54_000_000,
  });
  const child = spawn(file, [...args, join(import.meta.dirname, 'ReadBatches.java')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const printed = text(child.stdout);
  for (const batch of batches) {
    const length = Buffer.alloc(4);
    length.writeInt32BE(batch.length);
    child.stdin.write(Buffer.concat([length, batch]));
  }
  child.stdin.end();
  return (await printed)
    .split('\n')
    .filter((line) => line !== '')
    .map((line, at) => {
      const read = JSON.parse(line) as Read;
      if ('error' in read) return { error: Buffer.from(read.error, 'base64').toString() };
      return {
        records: read.records.map((record) => ({
          ...record,
          timestamp: exactly(batches[at], record.timestamp),
          headers: byName(
            record.headers.map(([header, value]) => [named(Buffer.from(header, 'base64')), value]),
          ),
        })),
      };
    });
}

/** Timestamps that a `Date` cannot hold may differ. */
function exactly(batch: Buffer | undefined, timestamp: string): string {
  const times = [timestamp, batch?.readBigInt64BE(27), batch?.readBigInt64BE(35)].map(Number);
  return times.every((time) => Math.abs(time) < MAX_TIME) ? timestamp : 'far';
}

/** A name; clients replace invalid UTF-8 with different numbers of replacement characters. */
function named(name: Buffer): string {
  return name.toString('utf8').replaceAll(/\ufffd+/g, '\ufffd');
}

/** An object does not keep the order of headers with different names. */
function byName(headers: ReadRecord['headers']): ReadRecord['headers'] {
  return headers.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
