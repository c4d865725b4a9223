/** Reads the files beside this one: what stores sell, where they lie, and what people write. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';

/** The content of a file. @throws {TypeError} when it is not what the schema says. */
export function readData<S extends TSchema>(name: string, schema: S): Static<S> {
  const content: unknown = parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8'));
  if (!Value.Check(schema, content)) {
    const [first] = Value.Errors(schema, content);
    throw new TypeError(
      `${name}.yaml${first?.instancePath ?? ''} ${first?.message ?? 'is not as it should be'}`,
    );
  }
  return content;
}

/** What may be `null`. */
export function orNull<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}
