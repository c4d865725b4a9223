import { describe, expect, it } from 'vitest';
import { type Cursor, decodeCursor, encodeCursor, startAt } from '#query/feed/cursor.ts';
import { feedOfKind } from '#query/feed/kinds.ts';
import type { Stamp } from '#shared/read-models/collections.ts';

const PLACE = { environment: 'production', storeId: 's1' };
const CURSOR: Cursor = {
  generation: 'AAECAwQF',
  epoch: 'BgcICQoL',
  lastDelivered: 98,
  snapshotPosition: 4_711,
  skipDeletionsUpTo: 7,
};

describe('a cursor', () => {
  it('of a release without details and several kinds is valid on its own path', () => {
    const { name: groups } = feedOfKind('option_group', 'summary');
    expect(
      decodeCursor(
        { ...PLACE, feed: groups },
        'AWgdg_iL0KUmAAECAwQFBgcICQoLAAAAAABiAAAAABJnAAAAAAAH',
      ),
    ).toEqual(CURSOR);
  });

  it('with any changed bit is malformed', () => {
    const scope = { ...PLACE, feed: 'order' };
    const bytes = Buffer.from(encodeCursor(scope, { ...CURSOR, epoch: null }), 'base64url');
    expect(decodeCursor(scope, bytes.toString('base64url'))?.epoch).toBeNull();
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(decodeCursor(scope, changed.toString('base64url'))).toBeNull();
    }
  });
});

/** A stamp of epochs with their first positions, the newest last, and the store's position. */
const startIn = (epochs: Record<string, number>, position: number, over: Partial<Cursor> = {}) => {
  const text = Object.entries(epochs)
    .map(([id, from]) => `${id}:${from.toString(36)}`)
    .join(',');
  const stamp = { position, epochs: text } as Stamp;
  return startAt(
    { ...CURSOR, epoch: 'own', snapshotPosition: 100, ...over },
    CURSOR.generation,
    stamp,
  );
};

describe('a database that was restored', () => {
  const told = { lastDelivered: 98, skipDeletionsUpTo: 7 };
  it('has all delivered changes if the cursor’s epoch continues or ended later', () => {
    expect(startIn({ own: 1 }, 100)).toEqual(told);
    expect(startIn({ own: 1, next: 101 }, 300)).toEqual(told);
  });

  it('assigns lost positions to other changes, including deletions, which the follower gets', () => {
    const lost = { skipDeletionsUpTo: 95 };
    for (const [epochs, position] of [
      [{ own: 1 }, 90],
      [{ own: 1, next: 91 }, 300],
    ] as const) {
      expect(startIn(epochs, position)).toEqual({ lastDelivered: 90, skipDeletionsUpTo: 7 });
      expect(startIn(epochs, position, lost)).toEqual({ lastDelivered: 90, skipDeletionsUpTo: 90 });
    }
  });
});
