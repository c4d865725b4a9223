import { expect, it } from 'vitest';
import { epochsIn, newEpoch, withEpoch } from '#shared/read-models/feed-epochs.ts';

it('a stamp lists no more than the last 64 epochs', () => {
  let text: string | undefined;
  for (let from = 1; from <= 70; from += 1) text = withEpoch(text, { id: newEpoch(), from });
  expect(epochsIn(text).map(({ from }) => from)).toEqual(
    Array.from({ length: 64 }, (_, index) => index + 7),
  );
});
