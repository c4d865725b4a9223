/**
 * Invalid messages of a careless source. The model does not know them, so they must have no effect.
 */
import type { Chance } from '#local/simulator/random.ts';
import { orderMessage } from '#test/events.ts';
import type { RawMessage } from '#test/installation.ts';

const NEWEST = 1_000_000;

/** A poison message of a store. */
export function poison(chance: Chance, storeId: string): RawMessage {
  // Newer than every valid event, so that any effect would be visible.
  const event = (data?: object) =>
    orderMessage('o1', { storeId, sequence: NEWEST, ...(data === undefined ? {} : { data }) });
  const numbered = (sequence: string): RawMessage => {
    const { value: text, ...rest } = event();
    return { ...rest, value: text.replace(`"${NEWEST}"`, `"${sequence}"`) };
  };
  const { key, value, headers } = event();
  const kinds: (() => RawMessage)[] = [
    () => ({ key: storeId, value: 'not an event' }),
    () => ({ key: storeId, value: null }),
    () => ({ key: storeId, value: Buffer.from([0xff, 0xfe, 0x00, 0x80]) }),
    () => ({ key: storeId, value: '[]' }),
    () => ({ key: storeId, value: '{"specversion":"1.0"}' }),
    // The key of another store.
    () => ({ key: `${storeId}x`, value, headers, partition: 0 }),
    () => ({ key, value: value.slice(0, -2), headers }),
    () => event({ total: '1,00' }),
    () => event({ status: 'unheard-of' }),
    () => event({ created_at: '2026-02-30T00:00:00Z' }),
    () => event({ notes: '\ud800' }),
    () => event({ display_id: '\u0000' }),
    () => event({ items: [{ product_id: 'p1' }] }),
    () => numbered('9007199254740993'),
    () => numbered('-1'),
    () => numbered('1e3'),
  ];
  return chance.helpers.arrayElement(kinds)();
}
