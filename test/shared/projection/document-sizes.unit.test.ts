/**
 * That nothing that is stored comes near the 16 MiB that MongoDB allows for a document or a command: by what events at every bound
 * become, and by arithmetic where it is many records that add up.
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
import { alphanumericOf, foldName, bytesOfTexts, searchTexts } from '#shared/read-models/search-texts.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { edgeEvent, LONGEST_ID } from '#test/edge-events.ts';
import { documentOf as documentOfChange } from '#shared/projection/projections/projections.ts';

const MIB = 1_048_576;
const DOCUMENT_BYTES = 16 * MIB;

/** The document that an event becomes, with what is added to it where it is written. */
function documentOf(value: Buffer): BSON.Document {
  const change = readChange({ key: Buffer.from(LONGEST_ID), value });
  const context = { offset: '-03:00', customerErased: false };
  return { ...documentOfChange(change, context), feed_position: Number.MAX_SAFE_INTEGER };
}

/** Most bytes that one code point becomes. */
function mostBytesOf(become: (character: string) => string): number {
  let most = 0;
  for (let point = 0; point <= 0x10_ffff; point += 1) {
    if (point >= 0xd8_00 && point < 0xe0_00) continue;
    most = Math.max(most, Buffer.byteLength(become(String.fromCodePoint(point))));
  }
  return most;
}

describe('what a search compares', () => {
  /** U+16D6A becomes three letters of four bytes, a syllable of Hangul three of three. */
  const FOLDED_BYTES = 12;

  it('grows by folding to so many bytes for a code point, and no further', { timeout: 120_000 }, () => {
    expect(mostBytesOf(foldName)).toBeLessThanOrEqual(FOLDED_BYTES);
    expect(mostBytesOf(alphanumericOf)).toBeLessThanOrEqual(4);
  });

  const { customer } = RANK_TREES;
  const nameBytes = TEXT_BOUNDS.name * FOLDED_BYTES;
  const numberBytes = TEXT_BOUNDS.other * (1 + 1 + 4);
  /** NUL on both sides, and a letter before each number. */
  const recordBytes = nameBytes + 2 + numberBytes + 5;

  it('of one customer is no more than that', () => {
    for (const filler of ['\u{16d6a}', '한', '𞤀', '9', '𐐀', 'ﬃ', 'İ', '\u0344']) {
      const document = documentOf(edgeEvent('customer', filler));
      expect(bytesOfTexts(searchTexts(document as never))).toBeLessThanOrEqual(recordBytes);
    }
  });

  it('of a leaf is far less than a document, also before it is cut', () => {
    // A leaf is within its bound, or one slice has brought it beyond: then it is cut before it is written.
    expect(customer.leafBytes + recordBytes).toBeLessThan(MIB);
    expect(customer.leafRecords * recordBytes).toBeLessThan(MIB);
    // So many customers at least come to a leaf: where each has a leaf of its own a tree would be no tree.
    expect(customer.leafBytes / recordBytes).toBeGreaterThan(10);
  });

  it('leaves a node small, though its boundaries are beginnings of names', () => {
    const facets = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`f${at}`, 2 ** 46]));
    for (const tree of Object.values(RANK_TREES)) {
      const boundary = 'x'.repeat(nameBytes + 1 + LONGEST_ID.length);
      const parts = Array.from({ length: tree.nodeParts }, () => ({ total: 0, counts: facets }));
      const node = {
        _id: nodeId(tree.name, LONGEST_ID, 9, boundary),
        store_id: LONGEST_ID,
        boundaries: parts.map(() => boundary),
        ...packCounts(parts),
        bytes: parts.map(() => 2 ** 31),
      };
      expect(BSON.calculateObjectSize(node)).toBeLessThan(MIB);
    }
  });
});

describe('a dead letter', () => {
  const letter = (message: Partial<LogMessage>) =>
    toDeadLetter(
      'store-changes.production',
      0,
      {
        key: null,
        value: null,
        timestamp: '0',
        attributes: 0,
        offset: String(Number.MAX_SAFE_INTEGER),
        headers: {},
        ...message,
      },
      new EventRejected('too_large', 'x'.repeat(1_000)),
    );

  it.each<[string, Partial<LogMessage>]>([
    ['is too large', { value: Buffer.alloc(10 * MIB), key: Buffer.alloc(10 * MIB) }],
    // Half a million of them are a mebibyte in Kafka's log.
    ['has very many headers that say nothing', { headers: { '': Array.from({ length: MIB / 2 }, () => '') } }],
    [
      'has very many headers of one letter',
      { headers: Object.fromEntries(Array.from({ length: MIB / 5 }, (_, at) => [at.toString(36), 'x'])) },
    ],
    ['has large headers', { headers: { ['€'.repeat(MIB)]: 'x', a: 'x'.repeat(MIB), b: Buffer.alloc(MIB) } }],
  ])('of a message that %s has two MiB at most', (_what, message) => {
    expect(BSON.calculateObjectSize(letter(message))).toBeLessThan(2 * MIB);
  });
});

describe('a command', () => {
  it('that names every entity of the longest slice, and the customers that they name, is no larger', () => {
    const most = 20_000;
    const servers = { KAFKA_BROKERS: 'k:9092', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };
    const settings = (events: number) => ({ ...servers, PROJECTOR_SLICE_EVENTS: String(events) });
    expect(readConfig(settings(most)).projector.sliceEvents).toBe(most);
    expect(() => readConfig(settings(most + 1))).toThrow('PROJECTOR_SLICE_EVENTS');
    const documents = Array.from({ length: most }, () => documentId(LONGEST_ID, LONGEST_ID));
    const tombstoneIds = documents.flatMap(() => [
      tombstoneId('option_group', LONGEST_ID, LONGEST_ID),
      tombstoneId('customer', LONGEST_ID, LONGEST_ID),
    ]);
    for (const ids of [documents, tombstoneIds]) {
      expect(BSON.calculateObjectSize({ filter: { _id: { $in: ids } } })).toBeLessThan(DOCUMENT_BYTES / 2);
    }
  });
});
