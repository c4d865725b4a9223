/** Parses the query string of an endpoint, or says its first mistake in one sentence. */
import type { FastifyRequest } from 'fastify';
import { nearestName } from '#shared/nearest.ts';
import { invalidParameters, Refused } from '../responses/refusal.ts';
import type { Parameter, Parameters, Values } from './parameter.ts';

/** The app's query parser keeps the text: endpoints parse it. */
export function keepQuery(raw: string): Record<string, unknown> {
  return { raw };
}

export function queryOf(request: FastifyRequest): string {
  return (request.query as { raw: string }).raw;
}

/** A longer name is cut where an answer names it. */
const SHOWN_NAME_LENGTH = 64;

/**
 * Makes the reader of an endpoint's parameters. It throws `Refused` with 422 for everything that
 * the endpoint does not define or allow. The message never repeats values: they may be personal.
 */
export function parameterReader<P extends Parameters>(parameters: P): (query: string) => Values<P> {
  const definitions = new Map(Object.entries(parameters));
  const ranges = [...definitions.keys()]
    .map((name) => [name, name.replace(/_from$/, '_to')] as const)
    .filter(([from, to]) => from !== to && definitions.has(to));
  return (query) => {
    const texts = collect(parseUrlEncoded(query), definitions);
    const values: Record<string, unknown> = {};
    for (const [name, definition] of definitions)
      values[name] = valueOf(name, definition, texts.get(name));
    for (const [from, to] of ranges) refuseEmptyRange(values, from, to);
    return values as Values<P>;
  };
}

/** Makes the reader of one parameter, which ignores all others. It throws as `parameterReader`. */
export function readerOfOne<T>(name: string, definition: Parameter<T>): (query: string) => T {
  const definitions = new Map([[name, definition]]);
  return (query) => {
    const pairs = parseUrlEncoded(query).filter((pair) => pair.name === name);
    return valueOf(name, definition, collect(pairs, definitions).get(name));
  };
}

function valueOf<T>(name: string, definition: Parameter<T>, given: readonly string[] = []): T {
  const { allowed, absent, read, repeatable } = definition;
  if (given.length === 0)
    return absent === undefined ? refuse(`${name} is required: ${allowed}`) : absent;
  const values = given.map((text) => read(text));
  if (values.includes(null))
    refuse(`${name} must be ${allowed}${severalInOne(name, definition, given)}`);
  return (repeatable ? [...new Set(values as string[])].toSorted() : values[0]) as T;
}

function refuse(detail: string): never {
  throw new Refused(invalidParameters(detail));
}

function collect(
  pairs: readonly Pair[],
  definitions: Map<string, Parameters[string]>,
): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const { name, value } of pairs) {
    if (name === null) refuse('a parameter name is not percent-encoded UTF-8');
    const definition = definitions.get(name);
    if (definition === undefined)
      refuse(inBrackets(name, definitions) ?? unknown(name, [...definitions.keys()]));
    if (value === null)
      refuse(`${name} is not percent-encoded UTF-8; it must be ${definition.allowed}`);
    if (value === '') refuse(`${name} is empty; it must be ${definition.allowed}, or be left out`);
    const given = texts.get(name);
    if (given === undefined) texts.set(name, [value]);
    else if (definition.repeatable) given.push(value);
    else refuse(`${name} is given more than once; it must be ${definition.allowed}`);
  }
  return texts;
}

/**
 * A hint for brackets behind a repeatable parameter, by which other APIs mark a list; `null` for
 * any other name.
 */
function inBrackets(name: string, definitions: Map<string, Parameters[string]>): string | null {
  const [, known = ''] = /^([a-z_]+)\[\d*\]$/.exec(name) ?? [];
  if (!definitions.get(known)?.repeatable) return null;
  return `unknown parameter ${known}[]; to give several values, repeat it without brackets: ${known}=…&${known}=…`;
}

/** A hint for values that are separated by commas, as in other APIs. */
function severalInOne(
  name: string,
  { repeatable, read }: Parameters[string],
  given: readonly string[],
): string {
  const parts = given.flatMap((value) => value.split(','));
  if (!repeatable || parts.length === given.length || parts.some((part) => read(part) === null))
    return '';
  return `; to give several, repeat it: ${name}=…&${name}=…`;
}

/** Other APIs have these in the query; here the token has them. */
const FROM_THE_TOKEN = new Set([
  'store',
  'storeid',
  'store_id',
  'environment',
  'env',
  'merchant_id',
]);

/** Names of our parameters in other APIs, without signs between words. */
const OTHER_NAMES = new Map([
  ...['limit', 'perpage', 'size', 'count'].map((name) => [name, 'page_size'] as const),
  ...['offset', 'cursor', 'skip'].map((name) => [name, 'page'] as const),
  ...['q', 'query'].map((name) => [name, 'search'] as const),
]);

/** The parameter that was probably meant; `null` if none is near. */
function meant(name: string, names: readonly string[]): string | null {
  const known = OTHER_NAMES.get(name.toLowerCase().replaceAll(/[^a-z]/g, ''));
  if (known === 'page' && names.includes('after')) return 'after';
  if (known === undefined || !names.includes(known)) return nearestName(name, names);
  return known === 'page' ? 'page (the feeds, such as GET /api/changes, have after)' : known;
}

function unknown(name: string, names: readonly string[]): string {
  const start = Array.from(name).slice(0, SHOWN_NAME_LENGTH).join('');
  const shown = start === name ? name : `${start}…`;
  const why = FROM_THE_TOKEN.has(name.toLowerCase())
    ? ' (the token has store and environment)'
    : '';
  if (names.length === 0) return `unknown parameter ${shown}${why}; this endpoint has none`;
  const nearest = meant(start, names);
  const hint = nearest === null ? '' : `the nearest is ${nearest}, `;
  return `unknown parameter ${shown}${why}; ${hint}allowed: ${names.join(', ')}`;
}

function refuseEmptyRange(values: Record<string, unknown>, from: string, to: string): void {
  const lower = values[from];
  const upper = values[to];
  if (typeof lower === 'number' && typeof upper === 'number' && lower > upper) {
    refuse(`${from} must not be after ${to}`);
  }
}

/** Needs no decoding. */
const PLAIN = /^[\w.~-]*$/;

/** A decoded pair; `null` marks a malformed side. */
export interface Pair {
  name: string | null;
  value: string | null;
}

/** The pairs of a query string or form. Empty segments are skipped, as everywhere on the web. */
export function parseUrlEncoded(text: string): Pair[] {
  const pairs: Pair[] = [];
  for (const segment of text.split('&')) {
    if (segment === '') continue;
    const equals = segment.indexOf('=');
    pairs.push({
      name: decode(equals === -1 ? segment : segment.slice(0, equals)),
      value: equals === -1 ? '' : decode(segment.slice(equals + 1)),
    });
  }
  return pairs;
}

/**
 * Decodes a name or value, `+` as a blank; `null` if it is not percent-encoded UTF-8. A plain blank
 * is accepted.
 */
export function decode(text: string): string | null {
  if (PLAIN.test(text)) return text;
  if (/[^\x20-\x7e]/.test(text)) return null;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
