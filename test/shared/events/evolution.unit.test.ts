import { describe, expect, it } from 'vitest';
import { readChange, STEPS, type Steps } from '#shared/events/change.ts';
import { carriedAs, text } from '#shared/records/field.ts';
import { describeRecord } from '#shared/records/record.ts';
import { MINIMAL } from '#test/changes.ts';
import { orderEvent, received, rejectionOf } from '#test/events.ts';

/** A made-up evolution: version 2 of a campaign renames `segment` to `audience`. */
const RENAMED: Steps = {
  campaign: [
    ({ segment, audience: _unknown, ...rest }) =>
      segment === undefined ? rest : { ...rest, audience: segment },
  ],
};

function read(entity: 'campaign' | 'order', data: object, dataschema?: string, steps = STEPS) {
  const schema = dataschema === undefined ? {} : { dataschema };
  return readChange(
    received({ entity, storeId: 's1', subject: 'x1', sequence: 1, data, ...schema }),
    steps,
  );
}

const { campaign, order } = MINIMAL;
const renamed = (data: object, dataschema?: string) =>
  read('campaign', { ...campaign, ...data }, dataschema, RENAMED);

function refusal(act: () => unknown) {
  const rejection = rejectionOf(act);
  return [rejection?.reason, rejection?.detail];
}

describe('the version of an event’s schema', () => {
  it.each([undefined, 'https://example.com/schemas/campaign/v1', 'campaign/1', 'urn:x/v1?a=b#c'])(
    'is 1 in %s: a field gets its new name',
    (dataschema) => {
      const { state, newerVersion } = renamed({ segment: 'todos' }, dataschema);
      expect(state).toEqual({ ...campaign, audience: 'todos' });
      expect(newerVersion).toBeUndefined();
    },
  );

  it('decides about the field’s name: each version ignores the other name', () => {
    const both = { segment: 'antiga', audience: 'nova' };
    expect(renamed(both, '/campaign/v1').state).toEqual({ ...campaign, audience: 'antiga' });
    expect(renamed(both, '/campaign/v2').state).toEqual({ ...campaign, ...both });
    // Any type, since the field is unknown in version 1.
    expect(renamed({ audience: 7 }, '/campaign/v1').state).toEqual(campaign);
  });

  it('does not change null or invalid values', () => {
    expect(renamed({ segment: null }).state).toEqual({ ...campaign, audience: null });
    for (const [name, dataschema] of [
      ['segment', '/campaign/v1'],
      ['audience', '/campaign/v2'],
    ] as const) {
      expect(refusal(() => renamed({ [name]: 7 }, dataschema))).toEqual([
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
    expect(newer).toMatchObject({ newerVersion: 7, state: order });
    const audience = 'nova';
    expect(renamed({ audience }, '/campaign/v2').newerVersion).toBeUndefined();
    expect(renamed({ audience }, '/campaign/v3')).toMatchObject({
      newerVersion: 3,
      state: { audience },
    });
  });

  it('is the reason if a newer event cannot be read, with the missing field', () => {
    const { total: _total, ...without } = order;
    expect(refusal(() => read('order', { ...without, amount: '39.90' }, '/order/v2'))).toEqual([
      'unknown_schema_version',
      expect.stringMatching(
        /^dataschema is version 2 and cannot be read as 1, the newest known: .*total/,
      ),
    ]);
    expect(refusal(() => read('order', without, '/order/v1'))[0]).toBe('invalid_data');
  });

  it('has no effect on a deletion', () => {
    const change = readChange(
      received({ ...orderEvent('x1'), action: 'deleted', dataschema: '/order/v9' }),
    );
    expect(change.state).toBeNull();
    expect(change.newerVersion).toBeUndefined();
  });
});

it('answers may show a field under another name than events carry', () => {
  const description = describeRecord({}, { audience: carriedAs('target_group', text.optional()) });
  expect(Object.keys(description.event.properties)).toEqual(['target_group']);
  const told = { id: 'x1', time: 0, offset: '-03:00', customerErased: false };
  expect(description.all({ ...told, state: { target_group: 'all' } })).toEqual({
    id: 'x1',
    audience: 'all',
  });
});
