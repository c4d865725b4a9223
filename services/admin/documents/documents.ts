/**
 * `npm run documents`: updates what docs/ takes from the schemas of events, the commands, the
 * settings and openapi.json: events.md, cli.md, asyncapi.json, configuration.md, rules.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type TSchema, Type } from 'typebox';
import {
  ACCESS_SCHEMAS,
  type AccessEntity,
  CLIENT_ID_PATTERN,
} from '#shared/events/access-event.ts';
import {
  describeFields,
  EVENT_SCHEMAS,
  type EventEntity,
  exampleEvent,
  type FieldDescription,
} from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { ID_PATTERN } from '#shared/events/fields.ts';
import { address } from '#shared/records/store.ts';
import { describeSettings } from '#shared/config.ts';
import { RELEASE } from '#shared/read-models/generation.ts';
import { createProgram } from '../program.ts';
import skeleton from './asyncapi.json' with { type: 'json' };

/**
 * The document with the part replaced.
 * @param name of the marks `<!-- name: begin -->` and `<!-- name: end -->`.
 */
export function replaceSection(text: string, name: string, markdown: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the document lacks ${begin} … ${end}`);
  return `${before}${begin}\n\n${markdown}\n\n${end}${after}`;
}

/** The least width of a terminal. */
const COLUMNS = 80;

/**
 * Without groups, which only list their commands, and without the parts that all commands share.
 */
export function cliMarkdown(): string {
  const all = commandHelps(createProgram());
  const isGroup = (group: string) =>
    group.includes(' ') && all.some(({ name }) => name.startsWith(`${group} `));
  const shorten = (name: string, help: string) =>
    help
      .replace(`Usage: ${name} [options]\n`, '')
      .replace(/(?<!Options:)\n {2}-h, .*/, '')
      .replace(/\n +--json +print JSON, for programs(?=\n|$)/, '')
      .replace(/\n\nOptions:(?=\n\n|$)/, '')
      .replaceAll(/^( +)npm run store-data -- /gm, '$1store-data ')
      .trim();
  return all
    .filter(({ name }) => !isGroup(name))
    .map(({ name, help }) => `## ${name}\n\n\`\`\`text\n${shorten(name, help)}\n\`\`\``)
    .join('\n\n');
}

/** A command's help and those of the commands under it, each by its whole name. */
function commandHelps(command: CommandUnknownOpts, parents = ''): { name: string; help: string }[] {
  const name = `${parents}${command.name()}`;
  let help = '';
  command.configureOutput({
    writeOut: (text) => (help += text),
    getOutHelpWidth: () => COLUMNS,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return [{ name, help }, ...command.commands.flatMap((child) => commandHelps(child, `${name} `))];
}

export function eventsMarkdown(): string {
  return [
    '## Fields of `data` on `store-changes`',
    ...ENTITY_NAMES.map(section),
    `### address\n\nOf stores, customers and deliveries.\n\n${table(describeFields(address.event))}`,
    '## Fields of `data` on `store-access`',
    ...(Object.keys(ACCESS_SCHEMAS) as AccessEntity[]).map(section),
  ].join('\n\n');
}

function section(entity: EventEntity): string {
  const example = exampleEvent(entity);
  const shown = JSON.stringify(entity === 'access_key' ? example : example.data, null, 2);
  return `### ${entity}\n\n${table(describeFields(EVENT_SCHEMAS[entity]))}\n\n\`\`\`json\n${shown}\n\`\`\``;
}

function table(fields: readonly FieldDescription[]): string {
  const rows = fields.map(({ name, type, whenAbsent }) => [
    code(name),
    type.replace('text, at most 255 characters', 'text'),
    whenAbsent ?? '**required**',
  ]);
  return markdownTable(['field', 'type', 'when absent'], rows);
}

export function settingsMarkdown(): string {
  const rows = describeSettings().map(({ name, default: fallback, meaning }) => {
    const shown = fallback === null ? '**required**' : fallback && code(fallback);
    return [code(name), shown, meaning];
  });
  return markdownTable(['variable', 'default', 'meaning'], rows);
}

interface OpenApi {
  paths: Record<string, { get?: { parameters: { name?: string; schema?: OpenApiSchema }[] } }>;
  components: { schemas: Record<string, OpenApiSchema> };
}

interface OpenApiSchema {
  $ref?: string;
  anyOf?: OpenApiSchema[];
  items?: OpenApiSchema;
  enum?: string[];
  properties?: Record<string, OpenApiSchema>;
}

/** The filters of each list. */
export function filtersMarkdown({ paths }: OpenApi): string {
  const rows = Object.entries(paths).flatMap(([path, { get }]) => {
    const filters = (get?.parameters ?? []).flatMap(({ name = '', schema }) =>
      schema === undefined || name.startsWith('page') || !/list\/?$/.test(path)
        ? []
        : `${code(name)}${schema.items === undefined ? '' : ' (repeatable)'}`,
    );
    return filters.length === 0 ? [] : [[code(path), filters.join(', ')]];
  });
  return markdownTable(['list', 'filters'], rows);
}

/** The fields of records and their parts, by the names that they have in openapi.json. */
export function recordsMarkdown({ components: { schemas } }: OpenApi): string {
  const fieldOf = ([name, schema]: [string, OpenApiSchema]): string => {
    const { items, anyOf, $ref = '' } = schema.anyOf?.[0] ?? schema;
    if (items !== undefined) return fieldOf([`${name}[]`, items]);
    const part = $ref.replace(/.*\//, '');
    const { enum: words = [], properties } = schemas[part] ?? anyOf?.[0] ?? {};
    const types = properties === undefined ? words : [part];
    return `${code(name)}${types.length === 0 ? '' : ` (${types.map(code).join(', ')})`}`;
  };
  const rows = Object.entries(schemas).flatMap(([name, { properties }]) => {
    if (properties === undefined || NO_RECORDS.test(name)) return [];
    const inLists = schemas[`${name}Summary`]?.properties ?? {};
    const added = Object.entries(properties).filter(([field]) => !(field in inLists));
    const base = Object.keys(inLists).length === 0 ? [] : [`${code(`${name}Summary`)} and`];
    return [[code(name), [...base, ...added.map(fieldOf)].join(' ').replaceAll('` `', ' ')]];
  });
  return markdownTable(['record or part', 'fields'], rows);
}

const NO_RECORDS = /(?:Changes?|List|Error|vailable)$|^(?:Token|OpenApi)/;

const code = (text: string) => `\`${text}\``;

function markdownTable(header: readonly string[], rows: readonly string[][]): string {
  return [header, header.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

type Json = Record<string, unknown>;

const STORE_ID = {
  type: 'string',
  pattern: ID_PATTERN.source,
  description: 'The store; equal to the message key.',
};
const CLIENT_ID = {
  type: 'string',
  pattern: CLIENT_ID_PATTERN.source,
  description: 'The client_id.',
};
const ENTITY_ID = { type: 'string', pattern: ID_PATTERN.source, description: 'The entity’s id.' };

/** The standard names of the formats that our validator checks, or a pattern. */
const FORMATS: Readonly<Record<string, Json>> = {
  text: { pattern: '^[^\\u0000]*$' },
  instant: { format: 'date-time' },
  'calendar-date': { format: 'date' },
};

export function asyncApiDocument(): Json {
  const changes = ENTITY_NAMES.flatMap((entity) => [
    ...messagesOf(entity, 'changed'),
    ...messagesOf(entity, 'deleted'),
  ]);
  const access = [
    ...messagesOf('access_key', 'changed', CLIENT_ID),
    ...messagesOf('store_access', 'changed'),
    ...messagesOf('store_quota', 'changed'),
    ...messagesOf('store_quota', 'deleted'),
    ...messagesOf('store_erasure', 'changed'),
  ];
  const { info, channels, components } = skeleton.document;
  return {
    ...skeleton.document,
    info: { ...info, version: RELEASE.version },
    channels: {
      changes: { ...channels.changes, messages: references(changes) },
      access: { ...channels.access, messages: references(access) },
    },
    components: {
      ...components,
      messages: Object.fromEntries(
        [...changes, ...access].map((message) => [message.name, message]),
      ),
      schemas: {
        ...components.schemas,
        'binary-headers': binaryHeaders(),
        address: jsonSchema(address.event, true),
        ...Object.fromEntries(
          Object.entries(EVENT_SCHEMAS).map(([entity, schema]) => [entity, jsonSchema(schema)]),
        ),
      },
    },
  };
}

function references(messages: readonly { name: string }[]): Json {
  return Object.fromEntries(
    messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
  );
}

const MESSAGE_BINDINGS = { kafka: { key: STORE_ID, bindingVersion: '0.5.0' } };

function messagesOf(entity: EventEntity, action: 'changed' | 'deleted', subject = ENTITY_ID) {
  const type = `store-data.${entity}.${action}`;
  const isDeleted = action === 'deleted';
  const summary = isDeleted ? `One ${entity} is gone.` : `The whole state of one ${entity}.`;
  const data = isDeleted ? undefined : { $ref: `#/components/schemas/${entity}` };
  const { data: payload, datacontenttype, ...present } = exampleEvent(entity);
  const attributes = isDeleted ? { ...present, type, sequence: '18' } : present;
  const example = isDeleted ? attributes : exampleEvent(entity);
  const binary = {
    ...inHeaders(attributes),
    ...(!isDeleted && { 'content-type': datacontenttype }),
  };
  return [
    {
      name: type,
      title: type,
      summary,
      contentType: 'application/cloudevents+json',
      headers: { $ref: '#/components/schemas/structured-headers' },
      payload: envelope(type, subject, data),
      examples: [
        {
          name: entity,
          headers: { 'content-type': 'application/cloudevents+json' },
          payload: example,
        },
      ],
      bindings: MESSAGE_BINDINGS,
    },
    {
      name: `${type}.binary`,
      title: `${type}, binary mode`,
      summary,
      contentType: 'application/json',
      headers: {
        allOf: [
          { $ref: '#/components/schemas/binary-headers' },
          { type: 'object', properties: { ce_type: { const: type }, ce_subject: subject } },
        ],
      },
      payload: data ?? { type: 'null', description: 'The value is empty.' },
      examples: [{ name: entity, headers: binary, payload: isDeleted ? null : payload }],
      bindings: MESSAGE_BINDINGS,
    },
  ];
}

function envelope(type: string, subject: Json, data: Json | undefined): Json {
  const { required, properties } = skeleton.envelope;
  return {
    type: 'object',
    required,
    ...(data !== undefined && { oneOf: [{ required: ['data'] }, { required: ['data_base64'] }] }),
    properties: {
      ...properties,
      type: { type: 'string', const: type },
      subject,
      storeid: STORE_ID,
      ...(data !== undefined && { data, data_base64: skeleton.dataBase64 }),
    },
  };
}

function binaryHeaders(): Json {
  const { required, properties } = skeleton.envelope;
  const { datacontenttype, sequence, ...others } = properties;
  const attributes = { ...others, sequence: { ...sequence, type: 'string' }, storeid: STORE_ID };
  return {
    type: 'object',
    required: required.map((name) => `ce_${name}`),
    properties: { 'content-type': datacontenttype, ...inHeaders(attributes) },
  };
}

function inHeaders(attributes: object): Json {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce_${name}`, value]),
  );
}

/**
 * A schema with standard formats, and with a reference for an address unless it is `itself` one.
 */
function jsonSchema(schema: TSchema, itself = false): Json {
  if (schema === address.event && !itself) return { $ref: '#/components/schemas/address' };
  if (Type.IsUnion(schema)) {
    const { anyOf, ...rest } = schema;
    return { ...rest, anyOf: anyOf.map((alternative) => jsonSchema(alternative)) };
  }
  if (Type.IsArray(schema)) return { ...schema, items: jsonSchema(schema.items) };
  if (Type.IsObject(schema)) {
    const properties = Object.entries(schema.properties).map(([name, field]) => [
      name,
      jsonSchema(field),
    ]);
    return { ...schema, properties: Object.fromEntries(properties) };
  }
  const {
    format,
    title: _title,
    ...rest
  } = schema as TSchema & { format?: string; title?: string };
  return { ...rest, ...(format !== undefined && FORMATS[format]) };
}

async function replaceIn(path: string, name: string, markdown: string): Promise<void> {
  await writeFile(path, replaceSection(await readFile(path, 'utf8'), name, markdown));
}

if (import.meta.main) {
  await replaceIn('docs/events.md', 'fields', eventsMarkdown());
  await replaceIn('docs/cli.md', 'commands', cliMarkdown());
  await replaceIn('docs/configuration.md', 'settings', settingsMarkdown());
  const openApi = JSON.parse(await readFile('docs/openapi.json', 'utf8')) as OpenApi;
  await replaceIn('docs/rules.md', 'filters', filtersMarkdown(openApi));
  await replaceIn('docs/rules.md', 'records', recordsMarkdown(openApi));
  await writeFile('docs/asyncapi.json', `${JSON.stringify(asyncApiDocument(), null, 2)}\n`);
}
