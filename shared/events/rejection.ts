/**
 * Why a message is poison: the reasons, the error with one, and the check of data, which quotes no
 * values.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Errors } from 'typebox/value';
import { withoutNull } from './fields.ts';

export const REJECTION_MEANINGS = {
  too_large: 'the message has more than 1 MiB or more than 10,000 headers',
  malformed: 'not UTF-8, not JSON, or JSON that is not an object',
  not_a_cloud_event: 'neither structured nor binary mode of CloudEvents 1.0',
  invalid_attribute: 'an attribute of the event is missing or has the wrong shape',
  unknown_type: 'the type is not one of ours',
  key_mismatch: 'the message key is not the store’s id',
  unknown_schema_version:
    'dataschema names no version, or a newer one that cannot be read as the newest known',
  invalid_data: 'the data is not what the entity requires',
  bound_elsewhere: 'the access key is bound to another store or environment',
  unreadable: 'its record batch cannot be read',
  projection_failed: 'no document could be made of it, or its transaction failed again and again',
} as const;

export type RejectionReason = keyof typeof REJECTION_MEANINGS;

export const REJECTION_REASONS = Object.keys(REJECTION_MEANINGS) as RejectionReason[];

/** Thrown for a message that is not an event (rule R13.2). `detail` never quotes values. */
export class EventRejected extends Error {
  override readonly name = 'EventRejected';
  readonly reason: RejectionReason;
  readonly detail: string;

  constructor(reason: RejectionReason, detail: string, options?: { cause?: unknown }) {
    super(`${reason}: ${detail}`, options);
    this.reason = reason;
    this.detail = detail;
  }
}

export const invalidAttribute = (detail: string) => new EventRejected('invalid_attribute', detail);

interface SchemaError {
  keyword: string;
  instancePath: string;
  message: string;
  params: Readonly<Record<string, unknown>>;
}

const FORMATS: Record<string, string> = {
  text: 'must be text without NUL and lone surrogates',
  instant: 'must be an RFC 3339 date-time with a zone that is on the calendar',
  'calendar-date': 'must be a date YYYY-MM-DD that is on the calendar',
};

export function schemaChecks<S extends Record<string, TSchema>>(schemas: S) {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, schemaCheck(schema)]),
  ) as {
    [N in keyof S]: (value: unknown) => Static<S[N]>;
  };
}

function schemaCheck<T extends TSchema>(schema: T): (value: unknown) => Static<T> {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return value;
    const [mistake] = withoutNullAlternatives(firstMistakes(schema, value, ''));
    throw new EventRejected(
      'invalid_data',
      mistake === undefined ? 'data has the wrong shape' : sentence(mistake),
    );
  };
}

export function findMistakes(schema: TSchema, value: unknown): string[] {
  const first = firstMistakes(schema, value, '');
  // A list may have hundreds of thousands of entries too many, of which each could have mistakes.
  const all = first.some(({ keyword }) => keyword === 'maxItems') ? first : Errors(schema, value);
  return [...new Set(withoutNullAlternatives(all).map(sentence))];
}

const validators = new WeakMap<TSchema, { Check: (value: unknown) => boolean }>();

function isValid(schema: TSchema, value: unknown): boolean {
  const known = validators.get(schema) ?? Compile(schema);
  validators.set(schema, known);
  return known.Check(value);
}

/**
 * The mistakes of the first part of a value that is wrong, whose other parts are right; empty for a
 * right value. Compiled checks find the part: to list the mistakes of a large value takes a hundred
 * times as long as to check it. Missing fields come before all others.
 */
function firstMistakes(schema: TSchema, value: unknown, instancePath: string): SchemaError[] {
  if (Type.IsUnion(schema))
    return value === null ? [] : firstMistakes(withoutNull(schema), value, instancePath);
  if (Type.IsArray(schema) && Array.isArray(value)) {
    const limit = 'maxItems' in schema ? Number(schema.maxItems) : Number.POSITIVE_INFINITY;
    if (value.length > limit)
      return [{ keyword: 'maxItems', instancePath, message: '', params: { limit } }];
    const at = value.findIndex((entry) => !isValid(schema.items, entry));
    if (at !== -1) return firstMistakes(schema.items, value[at], `${instancePath}/${at}`);
  }
  if (
    Type.IsObject(schema) &&
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value)
  ) {
    const fields = value as Record<string, unknown>;
    const missing = (schema.required ?? []).filter((field) => !Object.hasOwn(fields, field));
    if (missing.length > 0) {
      const message = `must have required properties ${missing.join(', ')}`;
      return [{ keyword: 'required', instancePath, message, params: {} }];
    }
    for (const [field, ofField] of Object.entries(schema.properties)) {
      if (!Object.hasOwn(fields, field) || isValid(ofField, fields[field])) continue;
      return firstMistakes(ofField, fields[field], `${instancePath}/${field}`);
    }
  }
  return Errors(schema, value).map((error) => ({
    ...error,
    instancePath: instancePath + error.instancePath,
  }));
}

/** Without "must be null", which every optional field may be. */
function withoutNullAlternatives(errors: readonly SchemaError[]): SchemaError[] {
  return errors.filter(({ keyword, params }) => keyword !== 'anyOf' && params['type'] !== 'null');
}

function sentence(error: SchemaError): string {
  return `data${path(error.instancePath)} ${words(error)}`;
}

function path(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('');
}

function words({ keyword, params, message }: SchemaError): string {
  const { allowedValues, format, limit } = params;
  if (keyword === 'enum' && Array.isArray(allowedValues))
    return `must be one of ${allowedValues.join(', ')}`;
  if (keyword === 'format') return FORMATS[String(format)] ?? message;
  if (keyword === 'maxLength') return `must not have more than ${String(limit)} characters`;
  if (keyword === 'maxItems') return `must not have more than ${String(limit)} entries`;
  if (keyword === '~refine') return String(params['message']);
  return message;
}
