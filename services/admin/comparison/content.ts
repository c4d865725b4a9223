/** What a record answers, so that two of them can be compared: bodies in the store's present offset, and all else. */
import type { Document } from 'mongodb';
import { BODY_FIELDS, jsonOf } from '#shared/read-models/bodies.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';

/** A record's fields as texts that are equal where its answers are. */
export type Content = ReadonlyMap<string, string>;

/** The content of a record, its bodies as they read under an offset. */
export function contentOf(record: Document, offset: string): Content {
  // The place in the change feed is each generation's own.
  const { offset: madeFor, feed_position: _place, ...fields } = record;
  return new Map(
    Object.entries(fields).map(([name, value]) => {
      const json = typeof value === 'string' ? jsonOf(name, value) : null;
      if (json === null || typeof madeFor !== 'string') return [name, asText(value)];
      return [name, shiftBody(json, madeFor, offset)];
    }),
  );
}

/** Names of the fields that differ, those of bodies with the member: `whole.total`. Never what they hold. */
export function differingFields(a: Content, b: Content): string[] {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].flatMap((name) => {
    const one = a.get(name);
    const other = b.get(name);
    if (one === other) return [];
    const members = BODY_FIELDS.includes(name) ? differingMembers(one, other) : [];
    return members.length > 0 ? members.map((member) => `${name}.${member}`) : [name];
  });
}

function differingMembers(one: string | undefined, other: string | undefined): string[] {
  const [a, b] = [one, other].map(objectIn);
  if (a === null || a === undefined || b === null || b === undefined) return [];
  const before = new Map(Object.entries(a).map(([name, value]) => [name, JSON.stringify(value)]));
  const after = new Map(Object.entries(b).map(([name, value]) => [name, JSON.stringify(value)]));
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
}

/** The object that a body is; `null` where it is damaged. */
function objectIn(text: string | undefined): object | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    return typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function asText(value: unknown): string {
  // JSON has no infinity, and a product without a category has that position.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
