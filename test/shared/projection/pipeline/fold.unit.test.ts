import { describe, expect, it } from 'vitest';
import { decode, fold } from '#shared/projection/pipeline/decode.ts';
import { messagesOf, type Told } from './events.ts';

/** Of each entity the versions that are kept, with the places of their events, and how many were outdated. */
function folded(events: readonly (Told | string)[]) {
  const { entries: decoded, rejected } = decode(messagesOf(events));
  const chains = fold(decoded);
  return {
    chains: Object.fromEntries(
      [...chains].map(([key, { entries, outdated }]) => [
        key,
        { entries: entries.map(({ change, at }) => [change.sequence, at]), outdated },
      ]),
    ),
    rejected: rejected.map(({ at, rejection }) => [at, rejection.reason]),
  };
}

describe('decoding and folding', () => {
  it('gathers events by entity, in the order of the slice', () => {
    expect(
      folded([
        { entity: 'order', id: 'o1', sequence: 1 },
        { entity: 'customer', id: 'o1', sequence: 1 },
        { entity: 'order', id: 'o2', sequence: 5 },
        { entity: 'order', id: 'o1', sequence: 2, deleted: true },
      ]),
    ).toEqual({
      chains: {
        'order/s1/o1': {
          entries: [
            [1, 0],
            [2, 3],
          ],
          outdated: 0,
        },
        'customer/s1/o1': { entries: [[1, 1]], outdated: 0 },
        'order/s1/o2': { entries: [[5, 2]], outdated: 0 },
      },
      rejected: [],
    });
  });

  it('drops what is not above the version before it: of two alike the first counts', () => {
    expect(
      folded([
        { entity: 'order', id: 'o1', sequence: 3 },
        { entity: 'order', id: 'o1', sequence: 3, deleted: true },
        { entity: 'order', id: 'o1', sequence: 2 },
        { entity: 'order', id: 'o1', sequence: 4 },
      ]).chains,
    ).toEqual({
      'order/s1/o1': {
        entries: [
          [3, 0],
          [4, 3],
        ],
        outdated: 2,
      },
    });
  });

  it('sets aside what is no event, and goes on behind it', () => {
    expect(
      folded([
        '{',
        { entity: 'order', id: 'o1', sequence: 1, data: { total: 1 } },
        { entity: 'order', id: 'o1', sequence: 2 },
      ]),
    ).toEqual({
      chains: { 'order/s1/o1': { entries: [[2, 2]], outdated: 0 } },
      rejected: [
        [0, 'malformed'],
        [1, 'invalid_data'],
      ],
    });
  });
});
