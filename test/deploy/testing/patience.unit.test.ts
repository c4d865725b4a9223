/** How long a proof waits for the client's copy to be right. */
import { expect, it } from 'vitest';
import { measureSlowness, Patience } from '../../../deploy/testing/patience.ts';

it('is over once its seconds are spent', () => {
  const patience = new Patience(60);
  patience.spend(59_999, 1);
  expect(patience.isOver).toBe(false);
  patience.spend(1, 1);
  expect(patience.isOver).toBe(true);
});

it('lasts as many times as long as the machine is slow', () => {
  const patience = new Patience(60);
  for (let minute = 1; minute < 4; minute += 1) patience.spend(60_000, 4);
  expect(patience.isOver).toBe(false);
  patience.spend(60_000, 4);
  expect(patience.isOver).toBe(true);
});

it('takes no machine for faster than one without other work', () => {
  expect(measureSlowness()).toBeGreaterThanOrEqual(1);
});
