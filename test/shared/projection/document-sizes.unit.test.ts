/**
 * Stored documents and commands stay far below MongoDB's limit of 16 MiB: tested with events at
 * every bound, and by arithmetic for documents of many records.
 */
import { BSON } from 'mongodb';
import type { LogMessage } from '#shared/kafka/message.ts';
import { describe, expect, it } from 'vitest';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { packCounts, nodeId } from '#shared/read-models/rank-tree/nodes.ts';
import { readConfig } from '#shared/config.ts';
import { TEXT_BOUNDS } from '#shared/events/fields.ts';
import { readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { documentId, tombstoneId } from '#shared/read-models/collections.ts';
import {
  alphanumericOf,
  foldName,
  bytesOfTexts,
  searchTexts,
} from '#shared/read-models/search-texts.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { edgeEvent, MAX_ID } from '#test/edge-events.ts';
import { kafkaMessage } from '#test/events.ts';
import { times } from '#test/times.ts';
import { documentOf as documentOfChange } from '#shared/projection/projections/projections.ts';

const MIB = 1_048_576;
const DOCUMENT_BYTES = 16 * MIB;

/** The document of an event, with the fields that are added on writing. */
function documentOf(value: Buffer): BSON.Document {
  const change = readChange({ key: Buffer.from(MAX_ID), value });
  const context = { offset: '-03:00', customerErased: false };
  return { ...documentOfChange(change, context), feed_position: Number.MAX_SAFE_INTEGER };
}

/** The maximum bytes of one converted code point. */
function mostBytesOf(become: (character: string) => string): number {
  let most = 0;
  for (let point = 0; point <= 0x10_ffff; point += 1) {
    if (point >= 0xd8_00 && point < 0xe0_00) continue;
    most = Math.max(most, Buffer.byteLength(become(String.fromCodePoint(point))));
  }
  return most;
}

describe('the texts of a search', () => {
  /** U+16D6A becomes three characters of four bytes, a Hangul syllable three of three. */
  const FOLDED_BYTES = 12;

  it('grow by folding up to these bytes per code point', { timeout: 120_000 }, () => {
    expect(mostBytesOf(foldName)).toBeLessThanOrEqual(FOLDED_BYTES);
    expect(mostBytesOf(alphanumericOf)).toBeLessThanOrEqual(4);
  });

  const { customer } = RANK_TREES;
  const nameBytes = TEXT_BOUNDS.name * FOLDED_BYTES;
  const numberBytes = TEXT_BOUNDS.other * (1 + 1 + 4);
  /** NUL on both sides, and a letter before each number. */
  const recordBytes = nameBytes + 2 + numberBytes + 5;

  it('of one customer are within that bound', () => {
    for (const filler of ['\u{16d6a}', '한', '𞤀', '9', '𐐀', 'ﬃ', 'İ', '\u0344']) {
      const document = documentOf(edgeEvent('customer', filler));
      expect(bytesOfTexts(searchTexts(document as never))).toBeLessThanOrEqual(recordBytes);
    }
  });

  it('of a leaf are far smaller than a document, even before a split', () => {
    // A leaf is within its bound, or a slice exceeds it: then it is split before it is written.
    expect(customer.leafBytes + recordBytes).toBeLessThan(MIB);
    expect(customer.leafRecords * recordBytes).toBeLessThan(MIB);
    // A leaf has several customers: with a leaf per customer a tree would be useless.
    expect(customer.leafBytes / recordBytes).toBeGreaterThan(10);
  });

  it('keep a node small, although its boundaries are prefixes of names', () => {
    const facets = Object.fromEntries(times(64, (at) => [`f${at}`, 2 ** 46]));
    for (const tree of Object.values(RANK_TREES)) {
      const boundary = 'x'.repeat(nameBytes + 1 + MAX_ID.length);
      const parts = times(tree.nodeParts, () => ({ total: 0, counts: facets }));
      const node = {
        _id: nodeId(tree.name, MAX_ID, 9, boundary),
        store_id: MAX_ID,
        boundaries: parts.map(() => boundary),
        ...packCounts(parts),
        bytes: parts.map(() => 2 ** 31),
      };
      expect(BSON.calculateObjectSize(node)).toBeLessThan(MIB);
    }
  });
});

const letter = (message: Partial<LogMessage>) =>
  toDeadLetter(
    'store-changes.production',
    0,
    { ...kafkaMessage('', Number.MAX_SAFE_INTEGER), ...message },
    new EventRejected('too_large', 'x'.repeat(1_000)),
  );

it.each<[string, Partial<LogMessage>]>([
  ['is too large', { value: Buffer.alloc(10 * MIB), key: Buffer.alloc(10 * MIB) }],
  // Half a million of them fit into a mebibyte of Kafka's log.
  ['has very many headers that say nothing', { headers: { '': times(MIB / 2, () => '') } }],
  [
    'has very many headers of one letter',
    {
      headers: Object.fromEntries(times(MIB / 5, (at) => [at.toString(36), 'x'])),
    },
  ],
  [
    'has large headers',
    { headers: { ['€'.repeat(MIB)]: 'x', a: 'x'.repeat(MIB), b: Buffer.alloc(MIB) } },
  ],
])('a dead letter of a message that %s has two MiB at most', (_what, message) => {
  expect(BSON.calculateObjectSize(letter(message))).toBeLessThan(2 * MIB);
});

it('a command with the ids of all entities of the longest slice, and of their customers, is far below the limit', () => {
  const most = 20_000;
  const servers = { KAFKA_BROKERS: 'k:9092', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };
  const settings = (events: number) => ({ ...servers, PROJECTOR_SLICE_EVENTS: String(events) });
  expect(readConfig(settings(most)).projector.sliceEvents).toBe(most);
  expect(() => readConfig(settings(most + 1))).toThrow('PROJECTOR_SLICE_EVENTS');
  const documents = times(most, () => documentId(MAX_ID, MAX_ID));
  const tombstoneIds = documents.flatMap(() => [
    tombstoneId('option_group', MAX_ID, MAX_ID),
    tombstoneId('customer', MAX_ID, MAX_ID),
  ]);
  for (const ids of [documents, tombstoneIds]) {
    expect(BSON.calculateObjectSize({ filter: { _id: { $in: ids } } })).toBeLessThan(
      DOCUMENT_BYTES / 2,
    );
  }
});
