import { describe, expect, it } from 'vitest';
import { decode, fold } from '#shared/projection/pipeline/decode.ts';
import { plan } from '#shared/projection/pipeline/plan.ts';
import type { Stored } from '#shared/projection/pipeline/stored.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { messagesOf, type Told } from './events.ts';

const NOTHING: Stored = {
  sequences: new Map(),
  placed: new Map(),
  ranked: new Map(),
  tombstones: new Set(),
  stamps: new Map(),
};

const stampOf = (stamp: Partial<Stamp>): Stored['stamps'] => new Map([['s1', { _id: 's1', store_id: 's1', ...stamp }]]);

const planned = (events: readonly Told[], stored: Partial<Stored> = {}) =>
  plan(fold(decode(messagesOf(events)).entries), { ...NOTHING, ...stored });

describe('the plan of a slice', () => {
  it('makes date-times for the offset that the store has when an event comes', () => {
    const { inserts, stamps, storeRecords } = planned(
      [
        { entity: 'order', id: 'o1', sequence: 1 },
        { entity: 'store', id: 's1', sequence: 7 },
        { entity: 'order', id: 'o2', sequence: 1 },
      ],
      { stamps: stampOf({ timezone_offset: '-02:00' }) },
    );
    expect(inserts.get('order')).toMatchObject([{ offset: '-02:00' }, { offset: '-04:00' }]);
    expect(stamps.get('s1')).toMatchObject({ offset: '-04:00' });
    expect(storeRecords).toEqual(new Map([['s1', 7]]));
  });
});
