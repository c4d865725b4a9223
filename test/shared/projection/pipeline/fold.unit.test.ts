import { describe, expect, it } from 'vitest';
import { decode, fold } from '#shared/projection/pipeline/decode.ts';
import { messagesOf, type Told } from './events.ts';

/** Of each entity the versions that are kept, with the places of their events, and how many were outdated. */
function folded(events: readonly (Told | string)[]) {
  const { entries: decoded, rejected } = decode(messagesOf(events));
  const chains = [...fold(decoded)].map(([key, { entries, outdated }]) => {
    const kept = entries.map(({ change, at }) => `${change.sequence} at ${at}`);
    return [key, `${kept.join(', ')}; ${outdated} outdated`];
  });
  return {
    chains: Object.fromEntries(chains) as Record<string, string>,
    rejected: rejected.map(({ at, rejection }) => [at, rejection.reason]),
  };
}

const order = (id: string, sequence: number, more: object = {}): Told => ({
  entity: 'order',
  id,
  sequence,
  ...more,
});

describe('decoding and folding', () => {
  it('gathers events by entity, in the order of the slice', () => {
    const customer: Told = { entity: 'customer', id: 'o1', sequence: 1 };
    const events = [order('o1', 1), customer, order('o2', 5), order('o1', 2, { deleted: true })];
    expect(folded(events)).toEqual({
      chains: {
        'order/s1/o1': '1 at 0, 2 at 3; 0 outdated',
        'customer/s1/o1': '1 at 1; 0 outdated',
        'order/s1/o2': '5 at 2; 0 outdated',
      },
      rejected: [],
    });
  });

  it('drops what is not above the version before it: of two alike the first counts', () => {
    const events = [order('o1', 3), order('o1', 3, { deleted: true }), order('o1', 2), order('o1', 4)];
    expect(folded(events).chains).toEqual({ 'order/s1/o1': '3 at 0, 4 at 3; 2 outdated' });
  });

  it('sets aside what is no event, and goes on behind it', () => {
    expect(folded(['{', order('o1', 1, { data: { total: 1 } }), order('o1', 2)])).toEqual({
      chains: { 'order/s1/o1': '2 at 2; 0 outdated' },
      rejected: [
        [0, 'malformed'],
        [1, 'invalid_data'],
      ],
    });
  });
});
