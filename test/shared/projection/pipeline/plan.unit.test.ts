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
  it('inserts what is new, at positions in the order of the events', () => {
    const { inserts, replacements, stamps, applied, outdated } = planned(
      [
        { entity: 'order', id: 'o2', sequence: 1 },
        { entity: 'customer', id: 'c1', sequence: 1 },
        { entity: 'order', id: 'o1', sequence: 4 },
      ],
      { stamps: stampOf({ position: 10 }) },
    );
    expect(inserts.get('order')).toMatchObject([
      { _id: 's1/o2', sequence: 1, feed_position: 11 },
      { _id: 's1/o1', sequence: 4, feed_position: 13 },
    ]);
    expect(inserts.get('customer')).toMatchObject([{ _id: 's1/c1', feed_position: 12 }]);
    expect(replacements.size).toBe(0);
    expect(stamps.get('s1')).toEqual({
      counters: { order: 2, customer: 1 },
      counts: { order: 2, customer: 1 },
      tombstones: { order: 0, customer: 0 },
      position: 13,
      positions: { order: 13, customer: 12 },
    });
    expect([applied.length, outdated]).toEqual([3, 0]);
  });

  it('writes an entity once, as its last version says, and counts every event', () => {
    const { inserts, stamps } = planned([
      { entity: 'order', id: 'o1', sequence: 1 },
      { entity: 'order', id: 'o1', sequence: 2, data: { status: 'ready' } },
    ]);
    expect(inserts.get('order')).toMatchObject([{ sequence: 2, feed_position: 2 }]);
    expect(inserts.get('order')?.[0]?.summary).toContain('"status":"ready"');
    expect(stamps.get('s1')).toMatchObject({ counters: { order: 2 }, counts: { order: 1 }, position: 2 });
  });

  it('replaces what is stored, and passes by what is not newer', () => {
    const { inserts, replacements, stamps, outdated } = planned(
      [
        { entity: 'order', id: 'o1', sequence: 5 },
        { entity: 'order', id: 'o2', sequence: 5 },
      ],
      {
        sequences: new Map([
          ['order/s1/o1', 4],
          ['order/s1/o2', 5],
        ]),
      },
    );
    expect(inserts.size).toBe(0);
    expect(replacements.get('order')).toMatchObject([{ _id: 's1/o1', sequence: 5 }]);
    expect(stamps.get('s1')).toMatchObject({ counters: { order: 1 }, counts: { order: 0 } });
    expect(outdated).toBe(1);
  });

  it('removes what is deleted, and leaves a tombstone, also of what was never there', () => {
    const { removals, tombstones, stamps } = planned(
      [
        { entity: 'order', id: 'o1', sequence: 2, deleted: true },
        { entity: 'order', id: 'o2', sequence: 1, deleted: true },
      ],
      { sequences: new Map([['order/s1/o1', 1]]) },
    );
    expect(removals.get('order')).toEqual(['s1/o1']);
    expect(tombstones).toEqual([
      { _id: 'order/s1/o1', store_id: 's1', entity: 'order', sequence: 2, feed_position: 1 },
      { _id: 'order/s1/o2', store_id: 's1', entity: 'order', sequence: 1, feed_position: 2 },
    ]);
    expect(stamps.get('s1')).toMatchObject({ counts: { order: -1 }, tombstones: { order: 2 } });
  });

  it('brings back what was deleted, without its tombstone', () => {
    const { inserts, restored, stamps } = planned([{ entity: 'order', id: 'o1', sequence: 3 }], {
      sequences: new Map([['order/s1/o1', 2]]),
      tombstones: new Set(['order/s1/o1']),
    });
    expect(inserts.get('order')).toMatchObject([{ _id: 's1/o1', sequence: 3 }]);
    expect(restored).toEqual(['order/s1/o1']);
    expect(stamps.get('s1')).toMatchObject({ counts: { order: 1 }, tombstones: { order: -1 } });
  });

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

  it('shows a deleted customer in nothing that came before, and in nothing while they are gone', () => {
    const { inserts, erased, stamps } = planned([
      { entity: 'order', id: 'o1', sequence: 1 },
      { entity: 'customer', id: 'c1', sequence: 2, deleted: true },
      { entity: 'order', id: 'o2', sequence: 1 },
      { entity: 'customer', id: 'c1', sequence: 3 },
      { entity: 'order', id: 'o3', sequence: 1 },
    ]);
    const shown = inserts.get('order')?.map(({ _id, summary }) => [_id, summary.includes('Ana')]);
    expect(shown).toEqual([
      ['s1/o1', false],
      ['s1/o2', false],
      ['s1/o3', true],
    ]);
    // What is stored of earlier slices is erased too, and answers about it change.
    expect(erased).toEqual(new Map([['s1', new Map([['c1', 1]])]]));
    expect(stamps.get('s1')?.counters).toEqual({ order: 4, customer: 2, review: 1 });
  });
});
