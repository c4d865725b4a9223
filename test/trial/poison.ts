/** Messages that are no events, as a careless source sends them. The model does not know them: nothing of them may show. */
import { encodeEvent } from '#shared/events/encode.ts';
import type { Chance } from '#local/simulator/random.ts';
import { ORDER } from '#test/events.ts';
import type { RawMessage } from '#test/installation.ts';

const NEWEST = 1_000_000;

/** A poison message of a store. */
export function poison(chance: Chance, storeId: string): RawMessage {
  // Newer than every good event: what of it were applied would show.
  const event = (data: object) =>
    encodeEvent({ source: '/test', entity: 'order', storeId, subject: 'o1', sequence: NEWEST, data });
  const numbered = (sequence: string): RawMessage => {
    const { value: text, ...rest } = event(ORDER);
    return { ...rest, value: text.replace(`"${NEWEST}"`, `"${sequence}"`) };
  };
  const { key, value, headers } = event(ORDER);
  const kinds: (() => RawMessage)[] = [
    () => ({ key: storeId, value: 'not an event' }),
    () => ({ key: storeId, value: null }),
    () => ({ key: storeId, value: Buffer.from([0xff, 0xfe, 0x00, 0x80]) }),
    () => ({ key: storeId, value: '[]' }),
    () => ({ key: storeId, value: '{"specversion":"1.0"}' }),
    // Another store's key.
    () => ({ key: `${storeId}x`, value, headers, partition: 0 }),
    () => ({ key, value: value.slice(0, -2), headers }),
    () => event({ ...ORDER, total: '1,00' }),
    () => event({ ...ORDER, status: 'unheard-of' }),
    () => event({ ...ORDER, created_at: '2026-02-30T00:00:00Z' }),
    () => event({ ...ORDER, notes: '\ud800' }),
    () => event({ ...ORDER, display_id: '\u0000' }),
    () => event({ ...ORDER, items: [{ product_id: 'p1' }] }),
    () => numbered('9007199254740993'),
    () => numbered('-1'),
    () => numbered('1e3'),
  ];
  return chance.helpers.arrayElement(kinds)();
}
