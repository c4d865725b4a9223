/** Whose data a message that is no event may hold, read as loosely as can be: what it says wrong does not matter here. */
import type { EventMessage } from '../../events/cloud-event.ts';
import { isId } from '../../events/fields.ts';
import { documentId } from '../../read-models/collections.ts';

/** A larger message is not parsed for this; what it says of people goes when the letter expires. */
const MAX_PARSED_BYTES = 4_194_304;

/** The customers that a message is about or names, as `<store id>/<customer id>`; none where it cannot be read. */
export function customersIn(message: EventMessage): string[] {
  const parsed = asObject(parse(message.value));
  const headers = ceHeaders(message.headers);
  const isBinaryMode = headers.size > 0;
  const attribute = (name: string) => (isBinaryMode ? headers.get(name) : parsed[name]);
  const data = isBinaryMode ? parsed : asObject(parsed['data']);

  const type = attribute('type');
  const named = [asObject(data['customer'])['id'], data['customer_id']];
  if (typeof type === 'string' && type.includes('.customer.')) named.push(attribute('subject'));
  const stores = [attribute('storeid'), message.key?.toString('utf8')].filter(isIdText);
  const found = named.filter(isIdText).flatMap((id) => stores.map((store) => documentId(store, id)));
  return [...new Set(found)];
}

function parse(value: Buffer | null): unknown {
  if (value === null || value.length > MAX_PARSED_BYTES) return null;
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    return null;
  }
}

function ceHeaders(headers: EventMessage['headers']): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, given] of Object.entries(headers ?? {})) {
    const value = Array.isArray(given) ? given[0] : given;
    if (value !== undefined && /^ce_/i.test(name)) found.set(name.slice(3).toLowerCase(), value.toString());
  }
  return found;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function isIdText(value: unknown): value is string {
  return typeof value === 'string' && isId(value);
}
