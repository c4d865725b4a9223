/**
 * The topics in AsyncAPI 3, `docs/asyncapi.json`: what stays the same is in `asyncapi.json` here, the rest is made from the schemas that
 * the projector validates with.
 */
import { Type, type TSchema } from 'typebox';
import { AccessKeyData, CLIENT_ID_PATTERN, StoreAccessData } from '#shared/events/access-event.ts';
import { type EntityName, ENTITY_NAMES, entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { Address, ID_PATTERN } from '#shared/events/fields.ts';
import skeleton from './asyncapi.json' with { type: 'json' };

type Json = Record<string, unknown>;

const STORE_ID = {
  type: 'string',
  pattern: ID_PATTERN.source,
  description: 'The store; equal to the message key.',
};
const CLIENT_ID = { type: 'string', pattern: CLIENT_ID_PATTERN.source, description: 'The client_id.' };
const ENTITY_ID = { type: 'string', pattern: ID_PATTERN.source, description: 'The entity’s id.' };

/** What others call the formats that only we check; those that they don't know are said by a pattern. */
const FORMATS: Readonly<Record<string, Json>> = {
  text: { pattern: '^[^\\u0000]*$' },
  instant: { format: 'date-time' },
  'calendar-date': { format: 'date' },
};

/** The document. */
export function asyncApiDocument(): Json {
  const changes = ENTITY_NAMES.flatMap((entity) => [changed(entity, ENTITY_ID), deleted(entity)]);
  const access = [changed('access_key', CLIENT_ID), changed('store_access', ENTITY_ID)];
  const { asyncapi, info, defaultContentType, operations, securitySchemes } = skeleton;
  return {
    asyncapi,
    info,
    defaultContentType,
    channels: {
      changes: channel('store-changes', 'The data of stores.', changes),
      access: channel('store-access', 'Keys, and the blocking of stores.', access),
    },
    operations,
    components: {
      securitySchemes,
      messages: Object.fromEntries([...changes, ...access].map((message) => [message.name, message.body])),
      schemas: {
        address: jsonSchema(Address, true),
        ...Object.fromEntries(ENTITY_NAMES.map((entity) => [entity, jsonSchema(entitySchemas[entity])])),
        access_key: jsonSchema(AccessKeyData),
        store_access: jsonSchema(StoreAccessData),
      },
    },
  };
}

interface Message {
  name: string;
  body: Json;
}

function changed(entity: EntityName | 'access_key' | 'store_access', subject: Json): Message {
  const type = `store-data.${entity}.changed`;
  const data = { $ref: `#/components/schemas/${entity}` };
  const example = { name: entity, payload: exampleEvent(entity) };
  return message(type, `The whole state of one ${entity}.`, envelope(type, subject, { data }), [example]);
}

function deleted(entity: EntityName): Message {
  const type = `store-data.${entity}.deleted`;
  const { data: _data, datacontenttype: _type, ...rest } = exampleEvent(entity);
  const example = { name: entity, payload: { ...rest, type, sequence: '18' } };
  return message(type, `One ${entity} is gone.`, envelope(type, ENTITY_ID, {}), [example]);
}

function message(name: string, summary: string, payload: Json, examples: Json[]): Message {
  const bindings = { kafka: { key: STORE_ID, bindingVersion: '0.5.0' } };
  return {
    name,
    body: {
      name,
      title: name,
      summary,
      contentType: 'application/cloudevents+json',
      payload,
      bindings,
      examples,
    },
  };
}

function envelope(type: string, subject: Json, { data }: { data?: Json }): Json {
  const { required, properties } = skeleton.envelope;
  return {
    type: 'object',
    required: data === undefined ? required : [...required, 'data'],
    properties: {
      ...properties,
      type: { type: 'string', const: type },
      subject,
      storeid: STORE_ID,
      ...(data === undefined ? {} : { data }),
    },
  };
}

function channel(topic: string, description: string, messages: readonly Message[]): Json {
  return {
    address: `${topic}.{environment}`,
    description,
    parameters: skeleton.channel.parameters,
    messages: Object.fromEntries(
      messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
    bindings: skeleton.channel.bindings,
  };
}

/** A schema of ours as JSON Schema for everybody: known formats, and an address by reference unless it is `itself`. */
function jsonSchema(schema: TSchema, itself = false): Json {
  if (schema === Address && !itself) return { $ref: '#/components/schemas/address' };
  if (Type.IsUnion(schema)) {
    const { anyOf, ...rest } = schema;
    return { ...rest, anyOf: anyOf.map((alternative) => jsonSchema(alternative)) };
  }
  if (Type.IsArray(schema)) return { ...schema, items: jsonSchema(schema.items) };
  if (Type.IsObject(schema)) {
    const properties = Object.entries(schema.properties).map(([name, field]) => [name, jsonSchema(field)]);
    return { ...schema, properties: Object.fromEntries(properties) };
  }
  const { format, title: _title, ...rest } = schema as TSchema & { format?: string; title?: string };
  return { ...rest, ...(format === undefined ? {} : FORMATS[format]) };
}
