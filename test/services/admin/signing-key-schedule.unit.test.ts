import { describe, expect, it } from 'vitest';
import { CLOCK_MARGIN_MS, scheduleOf } from '#admin/commands/signing-keys.ts';

const NOW = 1_000_000_000;
const LIFETIME = 900_000;
const key = (kid: string, seconds?: number) => ({
  kid,
  d: '',
  ...(seconds === undefined ? {} : { nbf: NOW / 1_000 + seconds }),
});

describe('scheduleOf', () => {
  it('gives the role of each key, and the time until which tokens of former keys live', () => {
    const keys = [key('d', 60), key('c', -10), key('b', -2_000), key('a')];
    expect(scheduleOf(keys, NOW, LIFETIME)).toMatchObject([
      { kid: 'd', state: 'waits', signs_from: new Date(NOW + 60_000), tokens_until: new Date(NOW) },
      { kid: 'c', state: 'signs', tokens_until: null },
      {
        kid: 'b',
        state: 'verifies',
        tokens_until: new Date(NOW - 10_000 + LIFETIME + CLOCK_MARGIN_MS),
      },
      // It stopped signing when the first of the later keys began.
      {
        kid: 'a',
        state: 'verifies',
        signs_from: null,
        tokens_until: new Date(NOW - 2_000_000 + LIFETIME + CLOCK_MARGIN_MS),
      },
    ]);
  });

  it('allows for clocks ahead: a key that is about to sign may already have signed', () => {
    const [waiting] = scheduleOf([key('b', 1), key('a')], NOW, LIFETIME);
    expect(waiting).toMatchObject({ state: 'waits', tokens_until: null });
  });
});
