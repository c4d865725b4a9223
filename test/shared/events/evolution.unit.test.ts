import { describe, expect, it } from 'vitest';
import { readChange, STEPS, type Steps } from '#shared/events/change.ts';
import { orderEvent, received, rejectionOf } from '#test/events.ts';

const campaign = {
  name: 'Natal',
  channel: 'email',
  status: 'draft',
  created_at: '2026-11-20T21:15:04Z',
};
const order = {
  status: 'pending',
  order_type: 'delivery',
  total: '39.90',
  created_at: '2026-11-20T21:15:04Z',
};

/** A made-up evolution: version 2 of a campaign renames `segment` to `audience`. */
const RENAMED: Steps = {
  campaign: [
    ({ segment, audience: _unknown, ...rest }) =>
      segment === undefined ? rest : { ...rest, audience: segment },
  ],
};

function read(entity: string, data: object, dataschema?: string, steps = STEPS) {
  const schema = dataschema === undefined ? {} : { dataschema };
  return readChange(
    received({ entity, storeId: 's1', subject: 'x1', sequence: 1, data, ...schema }),
    steps,
  );
}

function refusal(entity: string, data: object, dataschema: string, steps = STEPS) {
  const rejection = rejectionOf(() => read(entity, data, dataschema, steps));
  return [rejection?.reason, rejection?.detail];
}

describe('the version of an event’s schema', () => {
  it.each([undefined, 'https://example.com/schemas/campaign/v1', 'campaign/1', 'urn:x/v1?a=b#c'])(
    'is 1 in %s: a field gets its new name',
    (dataschema) => {
      const { state, newerVersion } = read(
        'campaign',
        { ...campaign, segment: 'todos' },
        dataschema,
        RENAMED,
      );
      expect(state).toEqual({ ...campaign, audience: 'todos' });
      expect(newerVersion).toBeUndefined();
    },
  );

  it('decides about the field’s name: each version ignores the other name', () => {
    const both = { ...campaign, segment: 'antiga', audience: 'nova' };
    expect(read('campaign', both, '/campaign/v1', RENAMED).state).toEqual({
      ...campaign,
      audience: 'antiga',
    });
    expect(read('campaign', both, '/campaign/v2', RENAMED).state).toEqual(both);
    // Any type, since the field is unknown in version 1.
    expect(read('campaign', { ...campaign, audience: 7 }, '/campaign/v1', RENAMED).state).toEqual(
      campaign,
    );
  });

  it('does not change null or invalid values', () => {
    expect(read('campaign', { ...campaign, segment: null }, undefined, RENAMED).state).toEqual({
      ...campaign,
      audience: null,
    });
    for (const [name, dataschema] of [
      ['segment', '/campaign/v1'],
      ['audience', '/campaign/v2'],
    ] as const) {
      expect(refusal('campaign', { ...campaign, [name]: 7 }, dataschema, RENAMED)).toEqual([
        'invalid_data',
        expect.stringContaining('data.audience'),
      ]);
    }
  });

  it('may be newer than any known one: the event is read as the newest, and marked', () => {
    const newer = read(
      'order',
      { ...order, carbon: { grams: 12 } },
      'https://example.com/order/v7',
    );
    expect(newer).toMatchObject({ newerVersion: 7, state: { total: '39.90' } });
    const known = read('campaign', { ...campaign, audience: 'nova' }, '/campaign/v2', RENAMED);
    expect(known.newerVersion).toBeUndefined();
    expect(
      read('campaign', { ...campaign, audience: 'nova' }, '/campaign/v3', RENAMED),
    ).toMatchObject({
      newerVersion: 3,
      state: { audience: 'nova' },
    });
  });

  it('is the reason if a newer event cannot be read, with the missing field', () => {
    const { total: _total, ...without } = order;
    expect(refusal('order', { ...without, amount: '39.90' }, '/order/v2')).toEqual([
      'unknown_schema_version',
      expect.stringMatching(
        /^dataschema is version 2 and cannot be read as 1, the newest known: .*total/,
      ),
    ]);
    expect(refusal('order', { ...without }, '/order/v1')[0]).toBe('invalid_data');
  });

  it('has no effect on a deletion', () => {
    const change = readChange(
      received({ ...orderEvent('x1'), action: 'deleted', dataschema: '/order/v9' }),
    );
    expect(change.state).toBeNull();
    expect(change.newerVersion).toBeUndefined();
  });
});
