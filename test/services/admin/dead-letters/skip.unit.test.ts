import { describe, expect, it } from 'vitest';
import { lastToSkip } from '#admin/dead-letters/decide.ts';
import type { UnreadableBatch } from '#shared/kafka/message.ts';

const batch = (from: number, to: number | null): UnreadableBatch => ({
  reason: 'corrupt',
  detail: 'it is cut',
  from,
  to,
  digest: '',
});

describe('the last offset that is passed by', () => {
  it('is that of the batch, and no other', () => {
    expect(lastToSkip(batch(5, 9), undefined, 20)).toBe(9);
    expect(lastToSkip(batch(5, 9), 9, 20)).toBe(9);
    for (const other of [8, 10]) {
      expect(() => lastToSkip(batch(5, 9), other, 20)).toThrow(/offsets 5 to 9: leave out --to/);
    }
  });

  it('is what the operator says where it cannot be told', () => {
    expect(lastToSkip(batch(5, null), 5, 20)).toBe(5);
    expect(lastToSkip(batch(5, null), 12, 20)).toBe(12);
    expect(() => lastToSkip(batch(5, null), 4, 20)).toThrow(/from 5 on: --to is before it/);
    expect(() => lastToSkip(batch(5, null), undefined, 20)).toThrow(/give --to/);
  });

  it('is one that the log has', () => {
    expect(lastToSkip(batch(5, null), 19, 20)).toBe(19);
    for (const beyond of [20, 190]) {
      expect(() => lastToSkip(batch(5, null), beyond, 20)).toThrow(/the log ends with 19: --to is beyond it/);
    }
  });
});
