import { describe, expect, it } from 'vitest';
import { partitionLag } from '#admin/lag/measure.ts';

describe('the lag of a partition', () => {
  const log = { start: 10, end: 50 };

  it('is what lies between the checkpoint and the end of the log', () => {
    const checkpoint = { position: 45, last_message: { offset: 44, timestamp: 1_000 } };
    expect(partitionLag('t', 0, checkpoint, log)).toEqual({
      topic: 't',
      partition: 0,
      position: 45,
      end: 50,
      lag: 5,
      lastAppliedAt: new Date(1_000),
    });
  });

  it('is the whole log while nobody has begun', () => {
    expect(partitionLag('t', 0, undefined, log)).toMatchObject({
      position: null,
      lag: 40,
      lastAppliedAt: null,
    });
  });

  it('is unknown where the checkpoint belongs to another log', () => {
    expect(partitionLag('t', 0, { position: 51, last_message: null }, log)).toMatchObject({ lag: null });
  });
});
