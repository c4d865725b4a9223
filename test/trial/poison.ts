/**
 * Invalid messages of a careless source. The model does not know them, so they must have no effect.
 */
import type { Chance } from '#local/simulator/random.ts';
import type { EncodedMessage } from '#shared/events/topics.ts';
import { orderMessage } from '#test/events.ts';
import type { RawMessage } from '#test/installation.ts';

/** Newer than every valid event, so that any effect would be visible. */
export function newest(storeId: string, data: object = {}): EncodedMessage {
  return orderMessage('o1', { storeId, sequence: 1_000_000, data });
}

/** A poison message of a store. */
export function poison(chance: Chance, storeId: string): RawMessage {
  return chance.helpers.arrayElement<RawMessage>([
    { key: storeId, value: 'not an event' },
    { key: storeId, value: null },
    // The key of another store.
    { ...newest(storeId), key: `${storeId}x`, partition: 0 },
    newest(storeId, { total: '1,00' }),
    newest(storeId, { notes: '\ud800' }),
  ]);
}
