/** What each key of a set does now and until when, from its order and times alone. All times in milliseconds. */
import { type SigningJwk, signingIndex } from '#shared/access/signing-key-set.ts';

/** How far the clocks of the services may be apart. */
export const CLOCK_MARGIN_MS = 2_000;

export interface KeySchedule {
  kid: string;
  /** `waits`: it will sign. `signs`: it does now. `verifies`: it did, or another stands before it. */
  state: 'waits' | 'signs' | 'verifies';
  /** When it begins, or began, to sign; `null` where the set does not say. */
  signsFrom: number | null;
  /** Until when a token that it signed may be valid; `null` where the set does not say. */
  tokensUntil: number | null;
}

/** The schedule of a set's keys, in the set's order. @param lifetime of a token. */
export function scheduleOf(keys: readonly SigningJwk[], now: number, lifetime: number): KeySchedule[] {
  const signing = signingIndex(keys, now);
  return keys.map(({ kid, nbf }, index) => {
    const signsFrom = nbf === undefined ? null : nbf * 1_000;
    if (index === signing) return { kid, state: 'signs', signsFrom, tokensUntil: null };
    if (index < signing) {
      // A service whose clock is ahead signs with it earlier.
      const mayHaveSigned = (signsFrom ?? 0) - CLOCK_MARGIN_MS <= now;
      return { kid, state: 'waits', signsFrom, tokensUntil: mayHaveSigned ? null : now };
    }
    const ends = keys.slice(0, index).map(({ nbf: begins }) => begins);
    const known = ends.filter((begins) => begins !== undefined);
    const stopped = known.length < ends.length ? null : Math.min(...known) * 1_000;
    return {
      kid,
      state: 'verifies',
      signsFrom,
      tokensUntil: stopped === null ? null : stopped + lifetime + CLOCK_MARGIN_MS,
    };
  });
}
