/** Checks data against a compiled schema and says, without quoting values, what is wrong with it. */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { EventRejected } from './rejection.ts';

interface SchemaError {
  keyword: string;
  instancePath: string;
  message: string;
  params: object;
}

/** What a format asks for, in words. */
const FORMATS: Record<string, string> = {
  text: 'must be text without NUL and lone surrogates',
  instant: 'must be an RFC 3339 date-time with a zone that is on the calendar',
  'calendar-date': 'must be a date YYYY-MM-DD that is on the calendar',
};

/**
 * Makes the check of one schema.
 * @returns a function that answers the value as the schema's type, or throws `EventRejected`.
 */
export function schemaCheck<T extends TSchema>(schema: T): (value: unknown) => Static<T> {
  const validator = Compile(schema);
  return (value) => {
    if (!validator.Check(value)) throw new EventRejected('invalid_data', describe(validator.Errors(value)));
    return value;
  };
}

/** One sentence about the deepest mistake: the alternative "must be null" of an absent field tells nothing. */
function describe(errors: readonly SchemaError[]): string {
  const depth = (error: SchemaError) => error.instancePath.split('/').length;
  const telling = errors.filter(
    ({ keyword, params }) => keyword !== 'anyOf' && !('type' in params && params.type === 'null'),
  );
  const [first] = telling.toSorted((a, b) => depth(b) - depth(a));
  if (first === undefined) return 'data has the wrong shape';
  return `data${path(first.instancePath)} ${words(first)}`;
}

function path(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('');
}

function words({ keyword, params, message }: SchemaError): string {
  if (keyword === 'enum' && 'allowedValues' in params && Array.isArray(params.allowedValues)) {
    return `must be one of ${params.allowedValues.join(', ')}`;
  }
  if (keyword === 'format' && 'format' in params && typeof params.format === 'string') {
    return FORMATS[params.format] ?? message;
  }
  return message;
}
