import { describe, expect, it } from 'vitest';
import { lastToSkip } from '#admin/dead-letters/skip.ts';
import type { UnreadableBatch } from '#shared/kafka/unreadable.ts';

const batch = (from: number, to: number | null): UnreadableBatch => ({
  reason: 'corrupt',
  detail: 'it is cut',
  from,
  to,
  digest: '',
});

describe('the last offset that is passed by', () => {
  it('is that of the batch, and no other', () => {
    expect(lastToSkip(batch(5, 9), undefined)).toBe(9);
    expect(lastToSkip(batch(5, 9), 9)).toBe(9);
    for (const other of [8, 10]) {
      expect(() => lastToSkip(batch(5, 9), other)).toThrow(/offsets 5 to 9: leave out --to/);
    }
  });

  it('is what the operator says where it cannot be told', () => {
    expect(lastToSkip(batch(5, null), 5)).toBe(5);
    expect(lastToSkip(batch(5, null), 12)).toBe(12);
    expect(() => lastToSkip(batch(5, null), 4)).toThrow(/from 5 on: --to lies before it/);
    expect(() => lastToSkip(batch(5, null), undefined)).toThrow(/give --to/);
  });
});
