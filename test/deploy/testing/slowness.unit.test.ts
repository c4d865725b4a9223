/** How slow the machine is, by which a proof waits longer for the client's copy to be right. */
import { expect, it } from 'vitest';
import { measureSlowness } from '../../../deploy/testing/slowness.ts';

it('takes no machine for faster than one without other work', () => {
  expect(measureSlowness()).toBeGreaterThanOrEqual(1);
});
