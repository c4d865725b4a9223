import { describe, expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { encodeEvent, type EventToEncode } from '#shared/events/encode.ts';
import { newestVersion } from '#shared/events/evolution.ts';
import { EventRejected } from '#shared/events/rejection.ts';

const campaign = { name: 'Natal', channel: 'email', status: 'draft', created_at: '2026-11-20T21:15:04Z' };
const order = {
  status: 'pending',
  order_type: 'delivery',
  total: '39.90',
  created_at: '2026-11-20T21:15:04Z',
};

function read(entity: string, data: object, dataschema?: string) {
  const event: EventToEncode = { entity, source: '/test', storeId: 's1', subject: 'x1', sequence: 1, data };
  const { key, value } = encodeEvent({ ...event, ...(dataschema === undefined ? {} : { dataschema }) });
  return readChange({ key: Buffer.from(key), value: Buffer.from(value) });
}

function refusal(entity: string, data: object, dataschema: string): [string, string] {
  try {
    read(entity, data, dataschema);
  } catch (error) {
    if (error instanceof EventRejected) return [error.reason, error.detail];
    throw error;
  }
  throw new Error('it was read');
}

describe('the version of an event’s schema', () => {
  it.each([undefined, 'https://example.com/schemas/campaign/v1', 'campaign/1', 'urn:x/v1?a=b#c'])(
    'is 1 in %s: a field renamed since then has its new name',
    (dataschema) => {
      const { state, newerVersion } = read('campaign', { ...campaign, audience: 'todos' }, dataschema);
      expect(state).toEqual({ ...campaign, segment: 'todos' });
      expect(newerVersion).toBeUndefined();
    },
  );

  it('is told from another by the name alone of a field: each version ignores what the other calls it', () => {
    const both = { ...campaign, audience: 'antiga', segment: 'nova' };
    expect(read('campaign', both, '/campaign/v1').state).toEqual({ ...campaign, segment: 'antiga' });
    expect(read('campaign', both, '/campaign/v2').state).toEqual({
      ...campaign,
      audience: 'antiga',
      segment: 'nova',
    });
    // Of any type: it is an unknown field of version 1.
    expect(read('campaign', { ...campaign, segment: 7 }, '/campaign/v1').state).toEqual(campaign);
  });

  it('keeps null and what is wrong as they are', () => {
    expect(read('campaign', { ...campaign, audience: null }).state).toEqual({ ...campaign, segment: null });
    expect(refusal('campaign', { ...campaign, audience: 7 }, '/campaign/v1')).toEqual([
      'invalid_data',
      // As the event's own version calls it.
      expect.stringContaining('data.audience'),
    ]);
    expect(refusal('campaign', { ...campaign, segment: 7 }, '/campaign/v2')).toEqual([
      'invalid_data',
      expect.stringContaining('data.segment'),
    ]);
  });

  it('may be newer than any known: it is read as the newest, and said to be so', () => {
    expect(newestVersion('order')).toBe(1);
    const newer = read('order', { ...order, carbon: { grams: 12 } }, 'https://example.com/order/v7');
    expect(newer).toMatchObject({ newerVersion: 7, state: { total: '39.90' } });
    expect(newestVersion('campaign')).toBe(2);
    expect(read('campaign', { ...campaign, segment: 'nova' }, '/campaign/v3')).toMatchObject({
      newerVersion: 3,
      state: { segment: 'nova' },
    });
  });

  it('is the reason where a newer one cannot be read, with what is missing in it', () => {
    const { total: _total, ...without } = order;
    expect(refusal('order', { ...without, amount: '39.90' }, '/order/v2')).toEqual([
      'unknown_schema_version',
      expect.stringMatching(/^dataschema is version 2 and cannot be read as 1, the newest known: .*total/),
    ]);
    expect(refusal('order', { ...without }, '/order/v1')[0]).toBe('invalid_data');
  });

  it('plays no part in a deletion', () => {
    const { key, value } = encodeEvent({
      entity: 'order',
      action: 'deleted',
      source: '/test',
      storeId: 's1',
      subject: 'x1',
      sequence: 2,
      dataschema: '/order/v9',
    });
    const change = readChange({ key: Buffer.from(key), value: Buffer.from(value) });
    expect(change.state).toBeNull();
    expect(change.newerVersion).toBeUndefined();
  });
});
