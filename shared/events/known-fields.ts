/** What of a value its schema knows: unknown fields are ignored (rule R12.2). */
import { Type, type TSchema } from 'typebox';

/** The value without the fields that its schema does not name, at any depth. What has another shape than the schema stays as it is. */
export function knownFields(schema: TSchema, value: unknown): unknown {
  if (Type.IsUnion(schema)) {
    // The unions of event data are "this or null".
    const [first] = schema.anyOf;
    return first === undefined ? value : knownFields(first, value);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Type.IsArray(schema)) {
    return Array.isArray(value) ? value.map((entry) => knownFields(schema.items, entry)) : value;
  }
  if (!Type.IsObject(schema)) return value;
  const known: Record<string, unknown> = {};
  for (const [field, fieldSchema] of Object.entries(schema.properties)) {
    if (Object.hasOwn(value, field)) known[field] = knownFields(fieldSchema, (value as typeof known)[field]);
  }
  return known;
}

/** A field that a schema does not name. */
interface UnknownField {
  /** Of the object that has it. */
  path: string;
  name: string;
  /** What the schema names there. */
  known: string[];
}

/** The fields of a value that its schema does not name, at any depth. */
export function* unknownFields(schema: TSchema, value: unknown, path: string): Generator<UnknownField> {
  if (typeof value !== 'object' || value === null) return;
  if (Type.IsUnion(schema)) {
    const [first] = schema.anyOf;
    if (first !== undefined) yield* unknownFields(first, value, path);
  } else if (Type.IsArray(schema) && Array.isArray(value)) {
    for (const [at, entry] of value.entries()) yield* unknownFields(schema.items, entry, `${path}[${at}]`);
  } else if (Type.IsObject(schema)) {
    const known = new Map(Object.entries(schema.properties));
    for (const [name, field] of Object.entries(value)) {
      const fieldSchema = known.get(name);
      if (fieldSchema === undefined) yield { path, name, known: [...known.keys()] };
      else yield* unknownFields(fieldSchema, field, `${path}.${name}`);
    }
  }
}

/** Bytes of the known fields of a value, in UTF-8 of `JSON.stringify`. */
export function knownBytes(schema: TSchema, value: unknown): number {
  return Buffer.byteLength(JSON.stringify(knownFields(schema, value)));
}
