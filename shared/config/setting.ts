/**
 * A setting: a variable and the TypeBox schema of its value. One tree of them is the configuration's
 * type, reader and table.
 */
import { isIP } from 'node:net';
import { type Static, Type, type TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { Check, Errors } from 'typebox/value';
import { readAddress, readRedisAddress } from '../address.ts';

export interface Setting<T extends TSchema = TSchema> {
  name: string;
  schema: T;
  /** As in the table: empty if nothing is set, `null` if the variable is required. */
  default: string | null;
  meaning: string;
}

interface SettingTree {
  [member: string]: Setting | SettingTree;
}

export type ValuesOf<T> =
  T extends Setting<infer S> ? Static<S> : { [member in keyof T]: ValuesOf<T[member]> };

/**
 * A setting that always has a value. `fallback` is read like a given text; `null` makes the setting
 * required.
 */
export function setting<T extends TSchema>(
  name: string,
  schema: T,
  fallback: string | null,
  meaning: string,
): Setting<T> {
  return { name, schema, default: fallback, meaning };
}

/** A setting that may be absent: then it is `null`. */
export function optional<T extends TSchema>(name: string, schema: T, meaning: string) {
  return setting(name, Type.Union([schema, Type.Null()], wordsOf(schema)), '', meaning);
}

export function wholeNumber(minimum: number, maximum: number) {
  return Type.Integer({
    minimum,
    maximum,
    words: `must be a whole number from ${minimum} to ${maximum}`,
  });
}

export function oneOf<const T extends string>(...allowed: T[]) {
  return Type.Enum(allowed, { words: `must be one of ${allowed.join(', ')}` });
}

export function matching(pattern: RegExp, words: string) {
  return Type.String({ pattern: pattern.source, words: `must be ${words}` });
}

export const anyText = Type.String({ minLength: 1, words: 'must not be empty' });
export const flag = Type.Boolean({ words: 'must be true or false' });
export const port = wholeNumber(0, 65_535);

Format.Set('address', (text) => readAddress(text) !== null);

Format.Set('web-address', (text) => URL.canParse(text));

export const webAddress = Type.String({
  pattern: '^https?://',
  format: 'web-address',
  words: 'must be a URI that begins with http:// or https://',
});

/** An ambiguous address is refused: a part of its password could be shown as the host. */
export const mongodbAddress = Type.String({
  pattern: '^mongodb(?:\\+srv)?://',
  format: 'address',
  words:
    'must be a URI that begins with mongodb:// or mongodb+srv://, with @ : / ? # in user, password and parameters percent-encoded',
});

Format.Set('redis-address', (text) => readRedisAddress(text) !== null);

/** An address of Redis: one server, sentinels, or nodes of a cluster. */
export const redisAddress = Type.String({
  format: 'redis-address',
  words:
    'must be a URI: redis://host:port, redis+sentinel://host:port,host:port/name-of-the-master or ' +
    'redis+cluster://host:port,host:port (with TLS rediss…), with @ : / ? # in user, password and parameters percent-encoded',
});

export function list<T extends TSchema>(item: T, least: 0 | 1) {
  return Type.Array(item, { minItems: least, uniqueItems: true, ...wordsOf(item) });
}

Format.Set('network', isNetwork);
export const network = Type.String({
  format: 'network',
  words: 'must be an address or a network such as 10.0.0.0/8',
});

/**
 * An address or a network. A network of all addresses is refused: every caller could forge its
 * address.
 */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const length = bits === undefined ? longest : /^[1-9]\d{0,2}$/.test(bits) ? Number(bits) : 0;
  return rest.length === 0 && length >= 1 && length <= longest;
}

function wordsOf(schema: TSchema): { words?: string } {
  return 'words' in schema && typeof schema.words === 'string' ? { words: schema.words } : {};
}

export function settingsOf(tree: SettingTree): Setting[] {
  return Object.values(tree).flatMap((member) => (isSetting(member) ? member : settingsOf(member)));
}

/**
 * Reads a tree of settings from the environment, and adds a line to `mistakes` for each wrong
 * setting.
 */
export function readSettings<T extends SettingTree>(
  tree: T,
  env: NodeJS.ProcessEnv,
  mistakes: string[],
): ValuesOf<T> {
  const values = Object.entries(tree).map(([name, member]) => [
    name,
    isSetting(member) ? readSetting(member, env, mistakes) : readSettings(member, env, mistakes),
  ]);
  return Object.fromEntries(values) as ValuesOf<T>;
}

export function readSetting(
  { name, schema, default: fallback, meaning }: Setting,
  env: NodeJS.ProcessEnv,
  mistakes: string[],
): unknown {
  // An empty variable counts as not set.
  const text = env[name] || fallback;
  if (text === null) {
    mistakes.push(`${name} is required: ${meaning}`);
    return convert(schema, '');
  }
  const value = convert(schema, text);
  if (!Check(schema, value)) mistakes.push(`${name} ${mistakeIn(schema, value)}`);
  return value;
}

function mistakeIn(schema: TSchema, value: unknown): string {
  const keywords = new Set(Errors(schema, value).map(({ keyword }) => keyword));
  if (keywords.has('minItems')) return 'must name at least one';
  if (keywords.has('uniqueItems') && keywords.size === 1) return 'must not repeat a name';
  return wordsOf(schema).words ?? 'cannot be read';
}

/** The value of a text. A text without a value stays as it is, and fails the check. */
function convert(schema: TSchema, text: string): unknown {
  const { anyOf, type } = schema as { anyOf?: TSchema[]; type?: string };
  if (anyOf?.[0] !== undefined) return text === '' ? null : convert(anyOf[0], text);
  if (type === 'integer') return /^\d{1,15}$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  if (type !== 'array') return text;
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function isSetting(member: Setting | SettingTree): member is Setting {
  return 'schema' in member;
}
