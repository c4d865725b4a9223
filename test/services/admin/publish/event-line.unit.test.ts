import { describe, expect, it } from 'vitest';
import { type EventLine, readEventLine } from '#admin/publish/event-line.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { orderEvent, orderLine } from './events.ts';

function read(text: string | Buffer, number = 1): EventLine | null {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return readEventLine({ number, bytes, length: bytes.length });
}

function reasonOf(text: string | Buffer): string {
  try {
    read(text);
    return 'none';
  } catch (error) {
    if (error instanceof EventRejected) return error.reason;
    throw error;
  }
}

describe('a line of NDJSON', () => {
  it('goes to the changes, under its store', () => {
    expect(read(orderLine('s1', 'o1'))).toMatchObject({ channel: 'changes', storeId: 's1' });
  });

  it('goes to access when it is about a key or a block', () => {
    const key = orderLine('s1', 'client', {
      type: 'store-data.access_key.changed',
      data: { secret_sha256: 'a'.repeat(64), scopes: ['order'], status: 'active' },
    });
    expect(read(key)).toMatchObject({ channel: 'access', storeId: 's1' });
    const block = orderLine('s1', 's1', {
      type: 'store-data.store_access.changed',
      data: { status: 'blocked' },
    });
    expect(read(block)).toMatchObject({ channel: 'access', storeId: 's1' });
  });

  it('finds its store wherever and however the attribute is written', () => {
    const { data, ...attributes } = orderEvent('s1', 'o1') as { data: object };
    const deceiving = JSON.stringify({ data: { ...data, storeid: 'other' }, ...attributes });
    expect(read(deceiving)).toMatchObject({ storeId: 's1' });
    expect(read(orderLine('s1', 'o1').replace('"storeid"', String.raw`"store\u0069d"`))).toMatchObject({
      storeId: 's1',
    });
    expect(read(orderLine('s1', 'o1').replace('"storeid":', '"storeid" : '))).toMatchObject({
      storeId: 's1',
    });
    // Of two, JSON takes the last.
    expect(read(orderLine('s1', 'o1').replace('{', '{"storeid":"first",'))).toMatchObject({ storeId: 's1' });
  });

  it('is sent as it is, but for a byte order mark at the beginning of the file', () => {
    const text = ` ${orderLine('s1', 'o1')} `;
    expect(read(text)?.value.toString('utf8')).toBe(text);
    expect(read(`\u{FEFF}${text}`)?.value.toString('utf8')).toBe(text);
    expect(() => read(`\u{FEFF}${text}`, 2)).toThrow(EventRejected);
  });

  it('may be blank', () => {
    for (const blank of ['', ' ', '\t ', '\u{FEFF}']) expect(read(blank)).toBeNull();
  });

  it.each([
    ['malformed', 'hello'],
    ['malformed', '[1]'],
    ['malformed', Buffer.from([0x7b, 0xff, 0x7d])],
    ['invalid_attribute', '{}'],
    ['invalid_attribute', orderLine('s1', 'o1', { storeid: undefined })],
    ['invalid_attribute', orderLine('s1', 'o1', { storeid: 's 1' })],
    ['invalid_attribute', orderLine('s1', 'o1', { sequence: '-1' })],
    ['invalid_attribute', orderLine('s1', 'o1', { sequence: '9007199254740992' })],
    ['invalid_attribute', orderLine('s1', 'o\u0000')],
    ['unknown_type', orderLine('s1', 'o1', { type: 'store-data.wish.changed' })],
    ['unknown_type', orderLine('s1', 'o1', { type: 'store-data.access_key.deleted' })],
    ['invalid_data', orderLine('s1', 'o1', { data: { status: 'pending' } })],
    ['invalid_data', orderLine('s1', 'o1', { type: 'store-data.store_access.changed', subject: 's1' })],
  ])('is %s: %s', (reason, text) => {
    expect(reasonOf(text)).toBe(reason);
  });

  it('is too large when the splitter did not keep it', () => {
    expect(() => readEventLine({ number: 7, bytes: null, length: 2_000_000 })).toThrow(/too_large.*2000000/);
  });
});
