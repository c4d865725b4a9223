/** The live line. */
import { expect, test } from 'vitest';
import type { ProjectorState } from '#local/start/projector-watch.ts';
import { StatusLine } from '#local/start/live-line.ts';

const state = (applied: number, rest: Partial<ProjectorState> = {}): ProjectorState => ({
  applied,
  changesHandled: applied,
  keysApplied: 0,
  deadLetters: 0,
  changesLag: 0,
  accessLag: 0,
  accessPending: 0,
  ...rest,
});

test('shows total, rate of the past seconds, and lag', () => {
  const line = new StatusLine();
  expect(line.describe(state(1_000), 0)).toBe('1,000 events applied · 0 events/s · lag 0');
  expect(line.describe(state(3_500, { changesLag: 12, accessLag: 1 }), 1_000)).toBe(
    '3,500 events applied · 2,500 events/s · lag 13',
  );
  for (let second = 2; second <= 20; second += 1) line.describe(state(3_500), second * 1_000);
  expect(line.describe(state(3_510), 21_000)).toContain('· 2 events/s ·');
});

test('says what is wrong', () => {
  const line = new StatusLine();
  expect(line.describe(null, 0)).toBe('the projector does not answer');
  expect(line.describe(state(5, { deadLetters: 2, changesLag: null }), 0)).toBe(
    '5 events applied · 0 events/s · lag unknown · 2 dead letters',
  );
});
