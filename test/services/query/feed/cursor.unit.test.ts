import { describe, expect, it } from 'vitest';
import { type Cursor, decodeCursor } from '#query/feed/cursor.ts';
import { feedOfKind } from '#query/feed/kinds.ts';

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
});
