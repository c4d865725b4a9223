import { describe, expect, it } from 'vitest';
import { type Cursor, decodeCursor, encodeCursor } from '#query/feed/cursor.ts';
import { ALL_KINDS, feedOfKind, feedOfKinds, kindsNamed } from '#query/feed/kinds.ts';

const PLACE = { environment: 'production', storeId: 's1' };
const CURSOR: Cursor = {
  generation: 'AAECAwQF',
  epoch: 'BgcICQoL',
  lastDelivered: 98,
  snapshotPosition: 4_711,
  skipDeletionsUpTo: 7,
};

describe('a cursor', () => {
  it('from before there were whole records and several kinds is one of its own path', () => {
    const { name: groups } = feedOfKind('option_group', 'summary');
    expect(
      decodeCursor({ ...PLACE, feed: groups }, 'AWgdg_iL0KUmAAECAwQFBgcICQoLAAAAAABiAAAAABJnAAAAAAAH'),
    ).toEqual(CURSOR);
    const { name: orders } = feedOfKind('order', 'summary');
    expect(
      decodeCursor({ ...PLACE, feed: orders }, 'AU1VXQDeJguQAAECAwQFAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
    ).toEqual({
      generation: 'AAECAwQF',
      epoch: null,
      lastDelivered: 0,
      snapshotPosition: 0,
      skipDeletionsUpTo: 0,
    });
  });

  it('is one of its feed alone', () => {
    const feeds = [
      ...ALL_KINDS.flatMap((kind) => [feedOfKind(kind, 'summary'), feedOfKind(kind, 'whole')]),
      ...[kindsNamed([]), kindsNamed(['order']), kindsNamed(['product', 'order'])].flatMap((kinds) => [
        feedOfKinds(kinds, 'summary'),
        feedOfKinds(kinds, 'whole'),
      ]),
    ];
    for (const [index, { name: feed }] of feeds.entries()) {
      const text = encodeCursor({ ...PLACE, feed }, CURSOR);
      const taken = feeds.flatMap(({ name }, other) =>
        decodeCursor({ ...PLACE, feed: name }, text) === null ? [] : [other],
      );
      expect(taken).toEqual([index]);
    }
  });

  it('is the same for the same kinds, however they are named', () => {
    expect(kindsNamed(['product', 'order'])).toEqual(kindsNamed(['order', 'product', 'order']));
    expect(kindsNamed(ALL_KINDS.map((kind) => kind.replace('_', '-')).toReversed())).toEqual(kindsNamed([]));
  });
});
