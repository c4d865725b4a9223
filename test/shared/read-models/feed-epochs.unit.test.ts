import { expect, it } from 'vitest';
import { times } from '#test/times.ts';
import { epochsIn, newEpoch, withEpoch } from '#shared/read-models/feed-epochs.ts';

it('a stamp lists no more than the last 64 epochs', () => {
  let text: string | undefined;
  for (let from = 1; from <= 70; from += 1) text = withEpoch(text, { id: newEpoch(), from });
  expect(epochsIn(text).map(({ from }) => from)).toEqual(times(64, (index) => index + 7));
});
