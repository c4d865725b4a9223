import { expect, it } from 'vitest';
import { lastToSkip } from '#admin/dead-letters/decide.ts';

const LOG_END = 20;

it.each<[what: string, to: number | null, given: number | undefined, skipped: number | RegExp]>([
  ['the batch, which ends there', 9, undefined, 9],
  ['the batch, which ends where the operator says', 9, 9, 9],
  ['less than the batch', 9, 8, /offsets 5 to 9: leave out --to/],
  ['more than the batch', 9, 10, /offsets 5 to 9: leave out --to/],
  ['one offset of a batch with an unknown end', null, 5, 5],
  ['what lies before the batch', null, 4, /from 5 on: --to is before it/],
  ['a batch with an unknown end without --to', null, undefined, /give --to/],
  ['up to the end of the log', null, 19, 19],
  ['more than the log', null, 20, /the log ends with 19: --to is beyond it/],
])('skips %s', (_what, to, given, skipped) => {
  const batch = { reason: 'corrupt' as const, detail: 'it is cut', from: 5, to, digest: '' };
  if (typeof skipped === 'number') expect(lastToSkip(batch, given, LOG_END)).toBe(skipped);
  else expect(() => lastToSkip(batch, given, LOG_END)).toThrow(skipped);
});
