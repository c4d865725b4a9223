/**
 * Events for documents (`docs/events.md`, `store-data events`): what a schema says of each field,
 * and an example of each entity.
 */
import { Type, type TSchema } from 'typebox';
import { ACCESS_SCHEMAS } from './access-event.ts';
import { entitySchemas } from './entities.ts';
import examples from './examples.json' with { type: 'json' };

/** The schemas of all events' data. */
export const EVENT_SCHEMAS = { ...entitySchemas, ...ACCESS_SCHEMAS };
export type EventEntity = keyof typeof EVENT_SCHEMAS;

export interface FieldDescription {
  /** Its place in the data: `items[].options[].name`. */
  name: string;
  /** In words: `text, at most 200 characters`. */
  type: string;
  isRequired: boolean;
  /** The value in answers if the event lacks it, in words; `null` for a required field. */
  whenAbsent: string | null;
}

/**
 * The fields of an object's schema, those inside of other objects behind them. Objects with a title
 * are described apart.
 */
export function describeFields(schema: TSchema, path = ''): FieldDescription[] {
  if (!Type.IsObject(schema)) throw new TypeError('only an object has fields');
  return Object.entries(schema.properties).flatMap(([field, fieldSchema]) => {
    const name = path + field;
    const type = presentOf(fieldSchema);
    const isRequired = !Type.IsOptional(fieldSchema);
    const own = {
      name,
      type: typeInWords(type),
      isRequired,
      whenAbsent: isRequired ? null : shownWhenAbsent(field, fieldSchema, type),
    };
    const entry = Type.IsArray(type) ? type.items : type;
    const isDescribedHere = Type.IsObject(entry) && titleOf(entry) === undefined;
    const prefix = Type.IsArray(type) ? `${name}[].` : `${name}.`;
    return [own, ...(isDescribedHere ? describeFields(entry, prefix) : [])];
  });
}

/** The schema of a field that is there, without the alternative `null`. */
function presentOf(schema: TSchema): TSchema {
  if (!Type.IsUnion(schema)) return schema;
  const alternatives = schema.anyOf.filter((alternative) => !Type.IsNull(alternative));
  return alternatives.length === 1 ? (alternatives[0] ?? schema) : Type.Union(alternatives);
}

function shownWhenAbsent(field: string, schema: TSchema, type: TSchema): string {
  if ('default' in schema) return `\`${JSON.stringify(schema.default)}\``;
  if (field === 'updated_at') return 'the event’s `time`';
  return Type.IsArray(type) ? '`[]`' : '`null`';
}

function typeInWords(schema: TSchema): string {
  if (Type.IsUnion(schema)) return schema.anyOf.map(typeInWords).join(', or ');
  if ('enum' in schema && Array.isArray(schema.enum)) return `one of ${quoted(schema.enum)}`;
  if ('const' in schema) return quoted([schema.const]);
  if (Type.IsArray(schema)) {
    const entries = presentOf(schema.items);
    const kind =
      Type.IsObject(entries) && titleOf(entries) === undefined ? 'objects' : typeInWords(entries);
    const list = kind.startsWith('one of') ? `list, each ${kind}` : `list of ${kind}`;
    return 'maxItems' in schema ? `${list}, at most ${limitOf(schema, 'maxItems')} entries` : list;
  }
  if (Type.IsString(schema)) return textInWords(schema);
  if (Type.IsInteger(schema)) {
    const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
    return `whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`;
  }
  return titleOf(schema) ?? ('type' in schema ? String(schema.type) : 'object');
}

function textInWords(schema: TSchema): string {
  const title = titleOf(schema) ?? 'string';
  return title === 'text' ? `text, at most ${limitOf(schema, 'maxLength')} characters` : title;
}

function limitOf(schema: TSchema, keyword: string): string {
  return Number(new Map(Object.entries(schema)).get(keyword)).toLocaleString('en');
}

function titleOf(schema: TSchema): string | undefined {
  return 'title' in schema && typeof schema.title === 'string' ? schema.title : undefined;
}

function quoted(words: readonly unknown[]): string {
  return words.map((word) => `\`${String(word)}\``).join(' ');
}

export function exampleEvent(entity: EventEntity) {
  const { subject, data } = examples[entity];
  return {
    specversion: '1.0',
    id: '9f0c2c0e-5b1d-4d0a-9c52-0d6a3c6f5a11',
    source: '/pos/s1',
    type: `store-data.${entity}.changed`,
    subject,
    time: '2026-11-20T21:52:40.120Z',
    datacontenttype: 'application/json',
    storeid: 's1',
    sequence: '17',
    data,
  };
}
