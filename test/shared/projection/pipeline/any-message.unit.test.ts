/**
 * Any message is applied or becomes one dead letter; no content causes another error (rule R13.2).
 */
import { BSON } from 'mongodb';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeLetter, toMessage, withMessage } from '#admin/dead-letters/messages.ts';
import { readAccessChange } from '#shared/events/access-event.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import type { EventRejected } from '#shared/events/rejection.ts';
import type { LogMessage, MessageHeaders } from '#shared/kafka/message.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { timestampText } from '#shared/kafka/record-batch.ts';
import { ChangeReader, fold } from '#shared/projection/pipeline/decode.ts';
import { plan } from '#shared/projection/pipeline/plan.ts';
import {
  customersIn,
  storesNamedBy,
  toBareLetter,
  toDeadLetter,
} from '#shared/projection/dead-letters/letter.ts';
import { identityOf } from '#shared/projection/slice/checkpoint.ts';
import { rejectionOf } from '#test/events.ts';
import { words } from '#test/words.ts';

const MIB = 1_048_576;
const DEEP = 20_000;

/** A string of this shape stands for JSON that `JSON.stringify` cannot write. */
const RAW = [
  '1e400',
  '-1e400',
  '-0',
  '1E-400',
  '17.0',
  '9007199254740993',
  '"\\ud800"',
  '"\\u0000"',
  '{"__proto__":{"id":"c1"},"id":"c1","id":null}',
  // Looks like a date-time if its type is ignored.
  '{"length":30,"4":"-","7":"-","10":"T","13":":","16":":"}',
  '['.repeat(DEEP) + ']'.repeat(DEEP),
  '{"a":'.repeat(DEEP) + '1' + '}'.repeat(DEEP),
];
/** Rarely one of the last two, which are large. */
const raw = fc
  .oneof({ weight: 20, arbitrary: fc.nat(RAW.length - 3) }, fc.nat(RAW.length - 1))
  .map((at) => `raw:${at}`);

const scalar = fc.oneof(
  raw,
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    17,
    2 ** 53,
    '',
    ...words(
      '17 s1 c1 __proto__ constructor toString a/b 0000-01-01T00:00:00+23:59 9999-12-31T23:59:59-23:59',
      '2016-12-31T23:59:60Z -271821-04-20T00:00:00Z +23:59 -23:59 999999999999.99',
    ),
    '\u{1F600}'.repeat(200),
    '\uFDFA'.repeat(200),
    'x'.repeat(5_001),
  ),
  fc.string({ unit: 'binary' }),
  fc.double(),
);
const anything = fc.oneof({ weight: 4, arbitrary: scalar }, fc.jsonValue());
const name = fc.oneof(
  fc.constantFrom(
    '',
    ...words('__proto__ constructor hasOwnProperty data data_base64 datacontenttype $set a.b'),
  ),
  fc.string({ unit: 'binary' }),
);

type Json = Record<string, unknown>;
interface Change {
  /** The index of a field, over all depths. */
  field: number;
  act: 'set' | 'remove' | 'add';
  name: string;
  value: unknown;
}
const change: fc.Arbitrary<Change> = fc.record({
  field: fc.nat(200),
  act: fc.constantFrom('set', 'set', 'set', 'remove', 'add'),
  name,
  value: anything,
});

function places(value: unknown): { holder: Json; field: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Json;
  return Object.keys(holder).flatMap((field) => [{ holder, field }, ...places(holder[field])]);
}

function changed(event: Json, changes: readonly Change[]): Json {
  for (const { field, act, name: added, value } of changes) {
    const all = places(event);
    const place = all[field % all.length];
    if (place === undefined) continue;
    if (act === 'remove') Reflect.deleteProperty(place.holder, place.field);
    else Object.defineProperty(place.holder, act === 'add' ? added : place.field, own(value));
  }
  return event;
}
const own = (value: unknown) => ({ value, enumerable: true, configurable: true, writable: true });

const encoded = (event: unknown) =>
  JSON.stringify(event).replaceAll(/"raw:(\d+)"/g, (_, at: string) => RAW[Number(at)] ?? '');

const event = fc
  .tuple(
    fc.constantFrom(...ENTITY_NAMES, 'access_key', 'store_access'),
    fc.array(change, { maxLength: 4 }),
  )
  .map(([entity, changes]) => changed(structuredClone<Json>(exampleEvent(entity)), changes));

const headerValue = fc.oneof(
  fc.constantFrom(null, Buffer.from([0xff])),
  fc
    .constantFrom(
      '',
      '1.0',
      's1',
      'application/json',
      'application/cloudevents+json; a=b',
      'text/plain',
    )
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
);
const headerName = fc.oneof(
  fc.constantFrom(
    '',
    ...words('content-type Content-Type ce_id CE_ID ce_ ce___proto__ __proto__ traceparent'),
    ...words('ce_specversion ce_type ce_subject ce_storeid ce_data constructor'),
  ),
  fc.string({ unit: 'binary' }),
);
const headers = fc
  .array(fc.tuple(headerName, fc.oneof(headerValue, fc.array(headerValue, { maxLength: 3 }))), {
    maxLength: 4,
  })
  .map((pairs): MessageHeaders => Object.fromEntries(pairs));

/** The event in binary mode, with arbitrary other headers. */
function inBinaryMode(
  { data, ...attributes }: Json,
  others: MessageHeaders,
): Pick<LogMessage, 'headers' | 'value'> {
  const named = Object.entries(attributes).map(([attribute, value]) => [
    `ce_${attribute}`,
    typeof value === 'string' ? Buffer.from(value) : null,
  ]);
  return {
    headers: { ...Object.fromEntries(named), ...others },
    value: data === undefined ? null : Buffer.from(encoded(data)),
  };
}

const asBytes = ({ data, ...attributes }: Json) => ({
  ...attributes,
  data_base64: Buffer.from(data === undefined ? '' : encoded(data)).toString('base64'),
});

const message: fc.Arbitrary<LogMessage> = fc
  .record({
    event,
    mode: fc.constantFrom(...words('structured structured structured binary base64 cut bytes')),
    headers: fc.oneof(fc.constant<MessageHeaders>({}), headers),
    key: fc.oneof(
      { weight: 5, arbitrary: fc.constant(Buffer.from('s1')) },
      fc.constantFrom(null, Buffer.alloc(0), Buffer.from([0xff]), Buffer.from('__proto__')),
    ),
    bytes: fc.option(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
    at: fc.nat(2_000),
    timestamp: fc.constantFrom(
      '0',
      '-1',
      '1790000000000',
      timestampText(-(2 ** 63)),
      timestampText(2 ** 63),
    ),
  })
  .map(({ event: said, mode, headers: given, key, bytes, at, timestamp }) => {
    const value = Buffer.from(encoded(mode === 'base64' ? asBytes(said) : said));
    const base = { key, headers: given, value, offset: '7', timestamp, attributes: 0 };
    if (mode === 'binary') return { ...base, ...inBinaryMode(said, given) };
    if (mode === 'bytes') return { ...base, value: bytes };
    if (mode !== 'cut') return base;
    return {
      ...base,
      value: Buffer.concat([value.subarray(0, at), bytes ?? Buffer.alloc(0), value.subarray(at)]),
    };
  });

const nothing = {
  sequences: new Map(),
  placed: new Map(),
  ranked: new Map(),
  tombstones: new Set<string>(),
  stamps: new Map(),
};

/**
 * Whether the message is applied: decoded, folded and planned, into documents that MongoDB accepts.
 */
function applies(given: LogMessage): boolean {
  const rejection = rejectionOf(() => new ChangeReader().read(given));
  const entries = rejection === null ? [{ change: new ChangeReader().read(given), at: 0 }] : [];
  const planned = plan(fold(entries), nothing);
  const dead = [...(rejection === null ? [] : [rejection]), ...planned.failed];
  const documents = [...planned.inserts.values()].flat();
  for (const document of documents)
    expect(BSON.calculateObjectSize(document)).toBeLessThan(4 * MIB);
  expect(documents.length + planned.tombstones.length + dead.length).toBe(1);
  const detailOf = (again: LogMessage) => rejectionOf(() => new ChangeReader().read(again))?.detail;
  if (rejection !== null) checkLetter(given, rejection, detailOf);
  return dead.length === 0;
}

function appliesToAccess(given: LogMessage): boolean {
  const read = (one: LogMessage) => rejectionOf(() => readAccessChange(one));
  const rejection = read(given);
  if (rejection !== null) checkLetter(given, rejection, (again) => read(again)?.detail);
  return rejection === null;
}

/** Asserts that a dead letter can be stored, shown and retried. */
function checkLetter(
  given: LogMessage,
  rejection: EventRejected,
  detailOf: (message: LogMessage) => string | undefined,
): void {
  const letter = toDeadLetter('t', 0, given, rejection);
  const stored = BSON.deserialize(BSON.serialize(letter)) as typeof letter;
  expect(stored.published_at.getTime()).toBe(letter.published_at.getTime());
  expect(toBareLetter('t', 0, given, rejection)._id).toBe(letter._id);
  describeLetter(stored);
  withMessage(letter, given);
  // A retry finds the same mistake, unless the letter is truncated.
  if (letter.cut !== true) expect(detailOf(toMessage(stored))).toBe(rejection.detail);
}

const parameters = { numRuns: Number(process.env['FUZZ_RUNS'] ?? 300) };

it(
  'any message is applied, or is one dead letter',
  { timeout: 60_000 + parameters.numRuns * 100 },
  () => {
    const applied = { changes: 0, access: 0 };
    fc.assert(
      fc.property(message, (given) => {
        if (applies(given)) applied.changes += 1;
        if (appliesToAccess(given)) applied.access += 1;
        customersIn(given);
        storesNamedBy(given);
        identityOf(given);
      }),
      parameters,
    );
    // Otherwise nearly valid messages would not be tested.
    expect(applied.changes).toBeGreaterThan(parameters.numRuns / 20);
    expect(applied.access).toBeGreaterThan(0);
  },
);
