/** Messages that are no events, read as loosely as can be: what they say wrong does not matter here. */
import type { EventMessage } from '../../events/cloud-event.ts';
import { isId } from '../../events/fields.ts';
import { documentId } from '../../read-models/collections.ts';

/** A larger message is not parsed for this; what it says of people goes when the letter expires. */
const MAX_PARSED_BYTES = 4_194_304;

export interface LooseEvent {
  attributes: Readonly<Record<string, unknown>>;
  /** `undefined` where there is none. */
  data: unknown;
  /** All that the message says; `undefined` where it is no JSON. */
  value: unknown;
}

/** What can be read of an event in either content mode. */
export function readLoosely({ value: bytes, headers = {} }: EventMessage): LooseEvent {
  const value = parse(bytes);
  const named = Object.entries(headers).flatMap(([name, given]) => {
    const text = Array.isArray(given) ? given[0] : given;
    return text !== undefined && /^ce_/i.test(name) ? [[name.slice(3).toLowerCase(), text.toString()]] : [];
  });
  if (named.length > 0) return { attributes: Object.fromEntries(named), data: value, value };
  return { attributes: asObject(value), data: asObject(value)['data'], value };
}

/** The customers that a message is about or names, as `<store id>/<customer id>`; none where it cannot be read. */
export function customersIn(message: EventMessage): string[] {
  const { attributes, data: given } = readLoosely(message);
  const data = asObject(given);
  const { type, subject } = attributes;
  const named = [asObject(data['customer'])['id'], data['customer_id']];
  if (typeof type === 'string' && type.includes('.customer.')) named.push(subject);
  const stores = storesIn(attributes, message);
  const found = named.filter(isIdText).flatMap((id) => stores.map((store) => documentId(store, id)));
  return [...new Set(found)];
}

/** The stores that a message is about: what its key says, and what it says itself as far as it can be read. */
export function storesNamedBy(message: EventMessage): string[] {
  return [...new Set(storesIn(readLoosely(message).attributes, message))];
}

function storesIn({ storeid }: LooseEvent['attributes'], { key }: EventMessage): string[] {
  return [storeid, key?.toString('utf8')].filter(isIdText);
}

function parse(value: Buffer | null): unknown {
  if (value === null || value.length > MAX_PARSED_BYTES) return undefined;
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function isIdText(value: unknown): value is string {
  return typeof value === 'string' && isId(value);
}
