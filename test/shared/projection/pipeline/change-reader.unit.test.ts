import { describe, expect, it } from 'vitest';
import { encodeEvent } from '#shared/events/encode.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';

const ORDER = {
  status: 'confirmed',
  order_type: 'delivery',
  customer: { id: 'c1', name: 'Ana', phone: '11987654321' },
  total: '10.00',
  created_at: '2026-03-01T12:00:00Z',
};

function order(storeId: string, data: object | null = ORDER) {
  const { key, value, headers } = encodeEvent({
    entity: 'order',
    storeId,
    subject: 'o1',
    sequence: 7,
    source: '/test',
    time: new Date('2026-03-01T12:00:00Z'),
    ...(data === null ? { action: 'deleted' } : { data }),
  });
  return { key: Buffer.from(key), value: Buffer.from(value), headers };
}

const SAO_PAULO = { offset: '-03:00', customerErased: false };

describe('a change that was read', () => {
  const reader = new ChangeReader();

  it('has its document made when it was read', () => {
    const message = order('early');
    const held = reader.read(message);
    message.value = Buffer.from('{');
    const document = held.documentIn(SAO_PAULO);
    expect(document).toMatchObject({ _id: 'early/o1', sequence: 7, offset: '-03:00' });
    expect(JSON.parse(document.summary)).toMatchObject({ created_at: '2026-03-01T09:00:00' });
  });

  it('makes it again for a store with another offset, and the next one of that store at once', () => {
    const first = reader.read(order('manaus')).documentIn({ ...SAO_PAULO, offset: '-04:00' });
    expect(JSON.parse(first.summary)).toMatchObject({ created_at: '2026-03-01T08:00:00' });
    const message = order('manaus');
    const held = reader.read(message);
    message.value = Buffer.from('{');
    expect(held.documentIn({ ...SAO_PAULO, offset: '-04:00' })).toEqual(first);
  });

  it('shows nothing of a customer who is deleted by the time it is needed', () => {
    const held = reader.read(order('erased'));
    expect(held.customerId).toBe('c1');
    const document = held.documentIn({ ...SAO_PAULO, customerErased: true });
    expect(JSON.stringify(document)).not.toContain('Ana');
    expect(JSON.parse(document.summary)).toMatchObject({ customer: { id: 'c1', name: null, phone: null } });
  });

  it('has no document where it deletes', () => {
    const held = reader.read(order('deleted', null));
    expect(held).toMatchObject({ entity: 'order', id: 'o1', deletes: true, customerId: null });
    expect(() => held.documentIn(SAO_PAULO)).toThrow(TypeError);
  });
});
