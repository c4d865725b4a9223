import { describe, expect, it } from 'vitest';
import { movedStores } from '#shared/projection/rewriting/moved-offsets.ts';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { ReadModelDocument, Stamp } from '#shared/read-models/collections.ts';

const stamp = (offset?: string): Stamp => ({
  _id: 's1',
  store_id: 's1',
  ...(offset === undefined ? {} : { timezone_offset: offset }),
});

/** The stores that a slice moves, which brings their offset to `to` (`undefined` does not touch it) and writes documents. */
function moved(to: string | null | undefined, before: Stamp | null, madeFor: string[] = []): string[] {
  const documents = madeFor.map((offset, index): ReadModelDocument => ({
    _id: `s1/o${index}`,
    store_id: 's1',
    sequence: 1,
    offset,
    summary: '{}',
    feed_position: 1,
  }));
  const stamps = new Map([['s1', { counters: {}, counts: {}, ...(to === undefined ? {} : { offset: to }) }]]);
  const inserts = new Map<EntityName, ReadModelDocument[]>([['order', documents]]);
  return movedStores(
    { stamps, inserts, replacements: new Map() },
    new Map(before === null ? [] : [['s1', before]]),
  );
}

describe('movedStores', () => {
  it.each([
    ['another offset', '-04:00', stamp('-03:00'), ['s1']],
    ['the same offset', '-03:00', stamp('-03:00'), []],
    ['the first offset, the one that was assumed', '-03:00', stamp(), []],
    ['the first offset, another one than was assumed', '-04:00', stamp(), ['s1']],
    ['a deleted record', null, stamp('-04:00'), ['s1']],
    ['a deleted record of an offset that is assumed again', null, stamp('-03:00'), []],
    ['other events alone', undefined, stamp('-04:00'), []],
    ['a store of which nothing had arrived', '-04:00', null, []],
  ] as const)('%s', (_name, to, before, expected) => {
    expect(moved(to, before)).toEqual(expected);
  });

  it('finds what a slice makes before its store moves on', () => {
    expect(moved('-04:00', null, ['-03:00', '-04:00'])).toEqual(['s1']);
    expect(moved('-04:00', stamp('-04:00'), ['+01:00'])).toEqual(['s1']);
    expect(moved('-04:00', stamp('-04:00'), ['-04:00'])).toEqual([]);
    expect(moved(undefined, stamp('-04:00'), ['-04:00'])).toEqual([]);
  });
});
