/**
 * Events at the bounds of the contract: lists of maximum length, and as many texts of maximum
 * length as fit.
 */
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { encodeEvent } from '#shared/events/topics.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { GROUP_BYTES, LISTS, textBound } from './contract-bounds.ts';
import { TEXT, COMPLETE_STATES } from './complete-states.ts';
import { times } from './times.ts';

export const MAX_ID = 'x'.repeat(64);

/** Space for the envelope. */
const ENVELOPE_BYTES = 1_000;

/** The required fields of list entries. */
const MINIMAL = {
  items: () => ({
    product_id: 'p',
    name: '',
    quantity: 1,
    unit_price: '0.00',
    total: '0.00',
    options: times(LISTS['items[].options'], () => ({})),
  }),
  addresses: () => ({}),
  payments: () => ({}),
  status_history: () => ({}),
  opening_hours: () => ({ weekday: 'monday' }),
  order_types: () => 'delivery',
  option_group_ids: (at: number) => `g${at}`.padEnd(64, 'g'),
  options: (at: number) => ({ id: `o${at}`, name: '', price: '0.00' }),
} satisfies Partial<Record<keyof typeof LISTS, (at: number) => unknown>>;

type Fields = Record<string, unknown>;

/**
 * A message of at most 1 MiB.
 * @param filler the character of all texts; if empty, only the lists are full, with minimal entries.
 * @param own attributes of the event.
 */
export function edgeEvent(
  entity: EntityName,
  filler: string,
  own: { storeId?: string; subject?: string; sequence?: number } = {},
): Buffer {
  const { storeId = MAX_ID, subject = entity === 'store' ? storeId : MAX_ID, sequence = 1 } = own;
  const data = edgeState(entity, filler);
  const { value } = encodeEvent({ entity, storeId, subject, sequence, source: '/test', data });
  return Buffer.from(value);
}

/**
 * A state with lists of maximum length, and as many texts of maximum length as fit into a message.
 */
export function edgeState(entity: EntityName, filler: string): Fields {
  const whole = COMPLETE_STATES[entity] as Fields;
  const state = Object.fromEntries(
    Object.entries(whole).map(([field, value]) => [
      field,
      Array.isArray(value) ? minimalList(field as keyof typeof MINIMAL) : filled(field, value, ''),
    ]),
  );
  let left =
    (entity === 'option_group' ? GROUP_BYTES : MAX_MESSAGE_BYTES - ENVELOPE_BYTES) - bytesOf(state);
  /** Replaces a minimal value by one with texts, if the remaining space allows it. */
  const takesRoom = (full: unknown, least: unknown): boolean => {
    const more = bytesOf(full) - bytesOf(least);
    if (more > left) return false;
    left -= more;
    return true;
  };
  for (const [field, value] of Object.entries(whole)) {
    const least = state[field];
    if (!Array.isArray(least)) {
      const full = filled(field, value, filler);
      if (takesRoom(full, least)) state[field] = full;
      continue;
    }
    const full = filled(field, (value as unknown[])[0], filler);
    if (typeof full === 'string') continue;
    for (const [at, entry] of least.entries()) {
      if (!takesRoom(full, entry)) break;
      least[at] = keepsId(entry, full);
    }
  }
  return state;
}

/** A state whose texts have maximum length, and whose lists have one entry. */
export function longState(entity: EntityName, filler: string): Fields {
  return filled('', COMPLETE_STATES[entity], filler, 1) as Fields;
}

function minimalList(field: keyof typeof MINIMAL): unknown[] {
  return times(LISTS[field], (at) => MINIMAL[field](at));
}

/** Options of a group have different ids. */
function keepsId(least: unknown, full: unknown): unknown {
  const { id } = least as Fields;
  return id === undefined ? full : { ...(full as Fields), id };
}

/** A value of the complete states with texts of maximum length, and so many entries in lists. */
function filled(
  field: string,
  value: unknown,
  filler: string,
  entries: number = LISTS['items[].options'],
): unknown {
  if (value === TEXT) return filler.repeat(textBound(field));
  if (Array.isArray(value)) return times(entries, () => filled(field, value[0], filler, entries));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, filled(name, inner, filler, entries)]),
  );
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
