/**
 * What a parameter is: one definition that reads it, says in words what is allowed, and is its JSON Schema, so
 * that answers and the OpenAPI document cannot disagree.
 */
import { Type, type TSchema } from 'typebox';
import type { Deprecation } from '../answers/deprecation.ts';

export interface Kind<T> {
  /** What is allowed, to follow "must be". */
  allowed: string;
  schema: TSchema;
  /** The value of a text that is not empty; `null` when it is not allowed. */
  read: (text: string) => T | null;
}

/** What a parameter means in its place, for the OpenAPI document. */
export interface Meaning {
  description: string;
  example?: string | number;
  deprecation?: Deprecation;
}

/** A kind of value in its place: whether it may be absent or repeated, and what it is then. */
export interface Parameter<T> extends Meaning {
  allowed: string;
  schema: TSchema;
  required: boolean;
  repeatable: boolean;
  /** `texts` has one element at least unless the parameter is absent; `null` when one is not allowed. */
  read: (texts: readonly string[]) => { value: T } | null;
}

export type Parameters = Record<string, Parameter<unknown>>;

export type Values<P extends Parameters> = {
  [N in keyof P]: P[N] extends Parameter<infer T> ? T : never;
};

/** One that may be absent and not repeated, unless it is said otherwise. */
function parameter<T>(
  { allowed, schema }: Kind<unknown>,
  meaning: Meaning,
  read: Parameter<T>['read'],
  differing: Partial<Parameter<T>> = {},
): Parameter<T> {
  return { ...meaning, allowed, schema, required: false, repeatable: false, read, ...differing };
}

function single<T, A>(kind: Kind<T>, absent: A): Parameter<T | A>['read'] {
  return ([text]) => {
    if (text === undefined) return { value: absent };
    const value = kind.read(text);
    return value === null ? null : { value };
  };
}

/** A parameter that may be absent: `null` then. */
export function optional<T>(kind: Kind<T>, meaning: Meaning): Parameter<T | null> {
  return parameter<T | null>(kind, meaning, single(kind, null));
}

/** A parameter that has a value when it is absent. */
export function withDefault<T>(kind: Kind<T>, absent: T, meaning: Meaning): Parameter<T> {
  return parameter(kind, meaning, single(kind, absent), { schema: { ...kind.schema, default: absent } });
}

/** A parameter without which there is no answer. */
export function required<T>(kind: Kind<T>, meaning: Meaning): Parameter<T> {
  const read = ([text = '']: readonly string[]) => single(kind, null)([text]) as { value: T } | null;
  return parameter(kind, meaning, read, { required: true });
}

/** A parameter that may be given several times: each value once, in a fixed order; empty when it is absent. */
export function repeatable<T extends string>(kind: Kind<T>, meaning: Meaning): Parameter<readonly T[]> {
  const read = (texts: readonly string[]) => {
    const values = texts.map((text) => kind.read(text));
    if (values.includes(null)) return null;
    return { value: [...new Set(values as T[])].toSorted() };
  };
  return parameter(kind, meaning, read, { schema: Type.Array(kind.schema), repeatable: true });
}
