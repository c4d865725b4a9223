/**
 * Record batches that no client makes, with valid checksums: records with false lengths and
 * offsets, and changed bytes.
 */
import fc from 'fast-check';
import { pack } from '#test/codecs.ts';
import {
  type BatchToEncode,
  encodeBatch,
  encodeRecord,
  type RecordToEncode,
} from '#test/record-batches.ts';

/** Few false fields: a batch with several is refused for the first. */
const rarely = <T>(usual: T, other: fc.Arbitrary<T>, freq = 30) =>
  fc.oneof({ weight: freq, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const bytes = fc.uint8Array({ maxLength: 12 }).map((array) => Buffer.from(array));
const nullable = fc.option(bytes, { freq: 4 });
const name = rarely<string | Buffer | null>(
  'name',
  fc.oneof(
    fc.constantFrom('', '__proto__', '7', 'name', 'é', null),
    fc.string({ unit: 'binary' }),
    bytes,
  ),
  2,
);
const lie = fc.oneof(fc.integer({ min: -3, max: 20 }), fc.integer());

const record: fc.Arbitrary<RecordToEncode> = fc
  .record(
    {
      key: nullable,
      value: nullable,
      headers: fc.array(fc.tuple(name, nullable), { maxLength: 3 }),
      timestampDelta: rarely(
        0n,
        fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt(-99n, 99n)),
        4,
      ),
      offsetDelta: rarely<number | null>(
        null,
        fc.oneof(fc.integer({ min: -2, max: 8 }), fc.integer()),
        8,
      ),
      says: rarely(
        {},
        fc.record(
          { length: lie, key: lie, value: lie, headers: lie, headerValue: lie },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: ['key', 'value', 'headers'] },
  )
  .map(({ offsetDelta, ...rest }) => ({
    ...rest,
    ...(offsetDelta === null ? {} : { offsetDelta }),
  }));

const change = fc.record({
  act: fc.constantFrom('flip', 'flip', 'cut', 'insert', 'append', 'repeat'),
  at: fc.nat(400),
  byte: fc.integer({ min: 0, max: 255 }),
});

function changed(
  given: Buffer,
  changes: readonly { act: string; at: number; byte: number }[],
): Buffer {
  let result = given;
  for (const { act, at: wanted, byte } of changes) {
    const at = result.length === 0 ? 0 : wanted % result.length;
    const [before, behind] = [result.subarray(0, at), result.subarray(at)];
    if (act === 'flip')
      result = Buffer.concat([
        before,
        Buffer.from([(behind[0] ?? 0) ^ (byte || 1)]),
        behind.subarray(1),
      ]);
    else if (act === 'cut') result = before;
    else if (act === 'insert') result = Buffer.concat([before, Buffer.from([byte]), behind]);
    else if (act === 'append') result = Buffer.concat([result, Buffer.from([byte])]);
    else result = Buffer.concat([result, behind]);
  }
  return result;
}

const changes = rarely<Parameters<typeof changed>[1]>(
  [],
  fc.array(change, { minLength: 1, maxLength: 2 }),
  4,
);

export interface RandomBatch {
  batch: Buffer;
  /** Whether bytes change after compression. */
  isPackedChanged: boolean;
}

export const randomBatch: fc.Arbitrary<RandomBatch> = fc
  .record({
    records: fc.array(record, { maxLength: 5 }),
    raw: changes,
    packed: changes,
    codec: fc.constantFrom(0, 0, 1, 2, 3, 4),
    unknownCodec: rarely<number | null>(null, fc.constantFrom(5, 6, 7)),
    baseOffset: fc.constantFrom(0, 7, 2 ** 40),
    gap: rarely(0, fc.integer({ min: -3, max: 5 }), 5),
    more: rarely(0, fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer()), 15),
    timestamp: rarely(1_790_000_000_000n, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), 6),
    // The bits of the codec, of the append time, and an unused one.
    attributes: fc.constantFrom(0, 0, 0, 0x08, 0x80),
  })
  .map((given) => {
    const records = changed(
      Buffer.concat(given.records.map((one, at) => encodeRecord(one, at))),
      given.raw,
    );
    const batch: BatchToEncode = {
      baseOffset: given.baseOffset,
      records: given.records,
      packed: changed(pack(given.codec, records), given.packed),
      lastOffsetDelta: given.records.length - 1 + given.gap,
      count: (given.records.length + given.more) | 0,
      timestamp: given.timestamp,
      attributes: given.attributes | (given.unknownCodec ?? given.codec),
    };
    return {
      batch: encodeBatch(batch),
      isPackedChanged: given.codec > 0 && given.packed.length > 0,
    };
  });
