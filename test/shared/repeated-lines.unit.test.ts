import { expect, it } from 'vitest';
import { RepeatedLines } from '#shared/logging.ts';

it('says each line at once, and then once a minute, with how often it was left out', () => {
  const lines = new RepeatedLines();
  expect(lines.say('away', 0)).toBe(0);
  for (let now = 1; now < 60_000; now += 1_000) expect(lines.say('away', now)).toBeNull();
  expect(lines.say('another', 30_000)).toBe(0);
  expect(lines.say('away', 60_000)).toBe(60);
  expect(lines.say('away', 60_001)).toBeNull();
  expect(lines.say('away', 120_000)).toBe(1);
});
