import { describe, expect, it } from 'vitest';
import { type EventMessage, MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { readChange } from '#shared/events/change.ts';
import type { RejectionReason } from '#shared/events/rejection.ts';
import { rejectionOf } from '#test/events.ts';
import { words } from '#test/words.ts';

const data = {
  status: 'pending',
  order_type: 'delivery',
  total: '39.90',
  created_at: '2026-11-20T21:15:04.120Z',
};

const item = { product_id: 'p', name: 'n', unit_price: '1.00', total: '1.00' };

const attributes = {
  specversion: '1.0',
  id: 'e1',
  source: '/pos/s1',
  type: 'store-data.order.changed',
  subject: 'o1001',
  time: '2026-11-20T21:15:04.120Z',
  datacontenttype: 'application/json',
  storeid: 's1',
  sequence: '17',
};

function structured(
  change: Record<string, unknown> = {},
  headers: EventMessage['headers'] = {},
): EventMessage {
  const event = { ...attributes, data, ...change };
  return { key: Buffer.from(event.storeid), value: Buffer.from(JSON.stringify(event)), headers };
}

function binary(change: Record<string, string> = {}, value: unknown = data): EventMessage {
  const headers: Record<string, Buffer> = { 'content-type': Buffer.from('application/json') };
  const { datacontenttype: _type, ...others } = attributes;
  for (const [name, text] of Object.entries({ ...others, ...change }))
    headers[`ce_${name}`] = Buffer.from(text);
  return { ...ofBytes(value === null ? null : Buffer.from(JSON.stringify(value))), headers };
}

/** A message of the store `s1` without headers. */
const ofBytes = (value: Buffer | null): EventMessage => ({ key: Buffer.from('s1'), value });

function reasonOf(message: EventMessage): [RejectionReason, string] | 'accepted' {
  const rejection = rejectionOf(() => readChange(message));
  return rejection === null ? 'accepted' : [rejection.reason, rejection.detail];
}

describe('readChange', () => {
  it('reads structured mode', () => {
    expect(readChange(structured())).toEqual({
      entity: 'order',
      storeId: 's1',
      id: 'o1001',
      sequence: 17,
      time: Date.parse('2026-11-20T21:15:04.120Z'),
      eventId: 'e1',
      state: data,
    });
  });

  it('reads binary mode to the same change', () => {
    expect(readChange(binary())).toEqual(readChange(structured()));
    expect(readChange(binary({ type: 'store-data.order.deleted' }, null)).state).toBeNull();
  });

  it('reads a deletion, with or without data', () => {
    expect(
      readChange(structured({ type: 'store-data.order.deleted', data: undefined })).state,
    ).toBeNull();
    expect(readChange(structured({ type: 'store-data.order.deleted' })).state).toBeNull();
  });

  it('treats null as absent, and ignores unknown fields', () => {
    const state = { ...data, customer: null, coupon: null, future: { a: '\u0000' } };
    expect(reasonOf(structured({ data: state, futureattribute: 'x' }))).toBe('accepted');
  });

  describe('of a sequence', () => {
    const spelled = (sequence: string) =>
      ofBytes(Buffer.from(JSON.stringify({ ...attributes, data }).replace('"17"', sequence)));

    it.each([
      ['"0"', 0],
      ['"9007199254740991"', Number.MAX_SAFE_INTEGER],
      [`"${'17'.padStart(64, '0')}"`, 17],
      ['17', 17],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      ['-0', 0],
    ])('reads digits or a JSON integer up to 2^53-1: %s', (text, sequence) => {
      expect(readChange(spelled(text)).sequence).toBe(sequence);
    });

    it.each([
      ...words('"9007199254740992" "-1" "1.0" "1e3" "" "0x1" ["17"] null'),
      ...words('9007199254740992 -1 1.5 1e400'),
      '" 1"',
    ])('refuses %s', (text) => {
      expect(reasonOf(spelled(text))).toEqual([
        'invalid_attribute',
        expect.stringContaining('sequence'),
      ]);
    });
  });

  describe('of headers', () => {
    const anything = {
      'trace-bin': Buffer.from([0xff, 0xfe]),
      'X-Ce_id': '\ud800',
      '': null,
      __proto__x: [null],
    };

    it('uses only content-type and ce_ headers', () => {
      expect(reasonOf(structured({}, anything))).toBe('accepted');
      expect(reasonOf({ ...binary(), headers: { ...binary().headers, ...anything } })).toBe(
        'accepted',
      );
      for (const name of ['content-type', 'Content-Type', 'ce_id', 'CE_anything']) {
        expect(reasonOf(structured({}, { [name]: Buffer.from([0xff]) }))).toEqual([
          'not_a_cloud_event',
          expect.stringContaining('UTF-8'),
        ]);
      }
    });

    it('treats a null header as absent', () => {
      const nulls = { 'content-type': null, ce_id: [null, null], ce_type: null };
      expect(readChange(structured({}, nulls))).toEqual(readChange(structured()));
      const { headers } = binary();
      expect(reasonOf({ ...binary(), headers: { ...headers, ce_id: null } })).toEqual([
        'invalid_attribute',
        'id is not a text of at least one character',
      ]);
    });

    it('uses the first of repeated headers, in any case of their names', () => {
      const { headers } = binary();
      for (const others of [{ ce_id: [null, 'e1', 'e2'] }, { ce_id: 'e1', CE_ID: 'e2' }]) {
        expect(readChange({ ...binary(), headers: { ...headers, ...others } }).eventId).toBe('e1');
      }
    });
  });

  describe('of content types', () => {
    it.each([
      'application/json',
      'Application/JSON; charset=utf-8',
      ' text/json ;x=y',
      'application/cloudevents+json; charset=UTF-8',
      'application/cloudevents-batch+json',
    ])('reads structured mode with %s', (type) => {
      expect(readChange(structured({}, { 'content-type': type }))).toEqual(
        readChange(structured()),
      );
    });

    it.each(['text/plain', 'application/jsonlines', ''])('refuses "%s"', (type) => {
      expect(reasonOf(structured({}, { 'content-type': type }))).toEqual([
        'not_a_cloud_event',
        expect.any(String),
      ]);
    });

    it('reads binary mode if there is a ce_ header, unless the content type contradicts', () => {
      const event = binary({ subject: 'o2' });
      const typed = (type: string | undefined) => ({ ...event.headers, 'content-type': type });
      for (const type of [undefined, 'text/json'])
        expect(readChange({ ...event, headers: typed(type) }).id).toBe('o2');
      const both = { ...structured(), headers: typed('application/cloudevents+json') };
      expect(readChange(both).id).toBe('o1001');
      expect(reasonOf({ ...event, headers: typed('text/plain') })).toEqual([
        'not_a_cloud_event',
        'the content type of the data is not JSON',
      ]);
      // One such header is enough, so that the mode is never guessed.
      expect(reasonOf(structured({}, { ce_id: 'e1' }))).toEqual([
        'invalid_attribute',
        'specversion is not "1.0"',
      ]);
    });
  });

  describe('of data_base64', () => {
    const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
    const ofUrls = base64(JSON.stringify({ ...data, notes: '???>>>' })).replaceAll('/', '_');
    const asBytes = (data_base64: unknown, change = {}) =>
      structured({ data: undefined, data_base64, ...change });

    it('decodes it', () => {
      expect(readChange(asBytes(base64(JSON.stringify(data))))).toEqual(readChange(structured()));
      expect(readChange(asBytes(base64(JSON.stringify(data)), { data: null })).state).toEqual(data);
      expect(readChange(structured({ data_base64: null })).state).toEqual(data);
      expect(readChange(asBytes('', { type: 'store-data.order.deleted' })).state).toBeNull();
    });

    it.each<[string, EventMessage, RejectionReason]>([
      ['that stands beside data', structured({ data_base64: base64('{}') }), 'invalid_attribute'],
      ['that is no string', asBytes({}), 'invalid_attribute'],
      ['of the alphabet for URLs', asBytes(ofUrls), 'invalid_attribute'],
      ['without padding', asBytes(base64('{"a":1}').replace(/=+$/, '')), 'invalid_attribute'],
      ['of what is not JSON', asBytes(base64('Maria')), 'malformed'],
      ['of what is not UTF-8', asBytes(base64(Buffer.from([0x22, 0xff, 0x22]))), 'malformed'],
      [
        'of another type',
        asBytes(base64('{}'), { datacontenttype: 'image/png' }),
        'invalid_attribute',
      ],
      ['of nothing', asBytes(''), 'invalid_data'],
      [
        'of binary mode',
        binary({ data_base64: base64(JSON.stringify(data)) }, null),
        'invalid_data',
      ],
    ])('refuses one %s', (_what, message, reason) => {
      expect(reasonOf(message)).toEqual([reason, expect.not.stringContaining('Maria')]);
    });
  });

  it.each<[string, EventMessage, RejectionReason]>([
    ['no value', ofBytes(null), 'malformed'],
    ['a truncated message', ofBytes(Buffer.from('{"specversion":"1.0"')), 'malformed'],
    ['what is not UTF-8', ofBytes(Buffer.from([0x7b, 0xff, 0x7d])), 'malformed'],
    ['more than 1 MiB', ofBytes(Buffer.alloc(MAX_MESSAGE_BYTES + 1, 0x20)), 'too_large'],
    ['a batch', ofBytes(Buffer.from('[{}]')), 'malformed'],
    ['no key', { ...structured(), key: null }, 'key_mismatch'],
    ['another key', { ...structured(), key: Buffer.from('s2') }, 'key_mismatch'],
    ['an old specversion', structured({ specversion: '0.3' }), 'invalid_attribute'],
    ['an empty source', structured({ source: '' }), 'invalid_attribute'],
    ['no time', structured({ time: undefined }), 'invalid_attribute'],
    ['a time without a zone', structured({ time: '2026-11-20T21:15:04' }), 'invalid_attribute'],
    ['a subject that is no id', structured({ subject: 'o 1' }), 'invalid_attribute'],
    ['a subject of 65 characters', structured({ subject: 'o'.repeat(65) }), 'invalid_attribute'],
    ['a store id that is no id', structured({ storeid: 's/1' }), 'invalid_attribute'],
    ['data that is not JSON', structured({ datacontenttype: 'text/xml' }), 'invalid_attribute'],
    ['an unknown entity', structured({ type: 'store-data.invoice.changed' }), 'unknown_type'],
    [
      'an inherited name as entity',
      structured({ type: 'store-data.constructor.changed' }),
      'unknown_type',
    ],
    ['a foreign type', structured({ type: 'store_data.order.changed' }), 'unknown_type'],
    ['an unknown action', structured({ type: 'store-data.order.created' }), 'unknown_type'],
    [
      'a store that is another',
      structured({ type: 'store-data.store.changed' }),
      'invalid_attribute',
    ],
    [
      'a dataschema without a version',
      structured({ dataschema: 'a/order' }),
      'unknown_schema_version',
    ],
    ['no data', structured({ data: undefined }), 'invalid_data'],
    ['binary mode without data', binary({}, null), 'invalid_data'],
  ])('refuses %s', (_what, message, reason) => {
    expect(reasonOf(message)).toEqual([reason, expect.any(String)]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['money with one decimal', { total: '39.9' }, 'data.total'],
    ['negative money', { total: '-1.00' }, 'data.total'],
    ['money of 13 digits', { total: '1234567890123.00' }, 'data.total'],
    ['a date that does not exist', { created_at: '2026-02-30T00:00:00Z' }, 'data.created_at'],
    [
      'a date-time of 256 characters',
      { created_at: `2026-02-20T00:00:00.${'0'.repeat(235)}Z` },
      'data.created_at',
    ],
    ['NUL in a text', { notes: 'a\u0000b' }, 'data.notes'],
    ['a lone surrogate', { notes: '\ud800' }, 'data.notes'],
    ['an unknown status', { status: 'lost' }, 'data.status must be one of pending, confirmed'],
    ['a missing field', { total: undefined }, 'total'],
    ['a required field that is null', { total: null }, 'data.total'],
    ['a quantity of none', { items: [{ ...item, quantity: 0 }] }, 'data.items[0].quantity'],
    ['a broken quantity', { items: [{ ...item, quantity: 1.5 }] }, 'data.items[0].quantity'],
    ['a hole in a list', { items: [null] }, 'data.items[0]'],
    ['a customer without id', { customer: { name: 'Maria' } }, 'data.customer'],
    [
      'a latitude that is no number',
      { delivery: { address: { latitude: '1' } } },
      'data.delivery.address.latitude',
    ],
  ])('refuses %s and says where', (_what, change, where) => {
    expect(reasonOf(structured({ data: { ...data, ...change } }))).toEqual([
      'invalid_data',
      expect.stringContaining(where),
    ]);
  });

  it('never quotes refused data', () => {
    const secret = 'Maria-12345678901';
    for (const message of [
      structured({ data: { ...data, total: secret, status: secret, notes: `${secret}\u0000` } }),
      structured({ subject: `${secret} ` }),
      structured({ type: secret }),
      ofBytes(Buffer.from(`{"a": ${secret}`)),
    ]) {
      expect(JSON.stringify(reasonOf(message))).not.toContain(secret);
    }
  });
});
