/** The topics in AsyncAPI 3, `docs/asyncapi.json`: made from the schemas that the projector validates with. */
import { Type, type TSchema } from 'typebox';
import { AccessKeyData, CLIENT_ID_PATTERN, StoreAccessData } from '#shared/events/access-event.ts';
import { type EntityName, ENTITY_NAMES, entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { Address, ID_PATTERN } from '#shared/events/fields.ts';

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

const SECURITY = ['scram', 'certificate'].map((name) => ({
  $ref: `#/components/securitySchemes/${name}`,
}));

/** The document. */
export function asyncApiDocument(): Json {
  const changes = ENTITY_NAMES.flatMap((entity) => [changed(entity, ENTITY_ID), deleted(entity)]);
  const access = [changed('access_key', CLIENT_ID), changed('store_access', ENTITY_ID)];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Store Data events',
      version: '1.0.0',
      description:
        'What publishers send: CloudEvents 1.0 in structured mode, under the store’s id as message key. An event carries the whole state of one entity. Rules: docs/rules.md, chapters R11 to R14.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/cloudevents+json',
    channels: {
      changes: channel('store-changes', 'The data of stores.', changes),
      access: channel('store-access', 'Keys, and the blocking of stores.', access),
    },
    operations: {
      applyChanges: operation('changes', 'Applies changes to the read models, each exactly once.'),
      applyAccess: operation('access', 'Applies who may read what.'),
    },
    components: {
      securitySchemes: {
        scram: { type: 'scramSha512', description: 'SASL over TLS, where the cluster asks for it.' },
        certificate: { type: 'X509', description: 'A client certificate, where the cluster asks for one.' },
      },
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
  const text = { type: 'string', minLength: 1 };
  const required = ['specversion', 'id', 'source', 'type', 'subject', 'time', 'storeid', 'sequence'];
  return {
    type: 'object',
    required: data === undefined ? required : [...required, 'data'],
    properties: {
      specversion: { type: 'string', const: '1.0' },
      id: { ...text, description: 'The event’s own id.' },
      source: { ...text, description: 'Who sent it.' },
      type: { type: 'string', const: type },
      subject,
      time: { type: 'string', format: 'date-time', description: 'When it happened.' },
      storeid: STORE_ID,
      sequence: {
        type: 'string',
        pattern: '^[0-9]{1,40}$',
        description:
          'The entity’s version, at most 2^53−1. An event that is not above the last one applied changes nothing.',
      },
      dataschema: {
        type: 'string',
        description: 'Its last path segment is the schema’s version; 1 without it.',
      },
      datacontenttype: { type: 'string', description: 'application/json, the default.' },
      ...(data === undefined ? {} : { data }),
    },
  };
}

function channel(topic: string, description: string, messages: readonly Message[]): Json {
  return {
    address: `${topic}.{environment}`,
    description,
    parameters: { environment: { description: 'Such as production or sandbox.', default: 'production' } },
    messages: Object.fromEntries(
      messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
    bindings: {
      kafka: {
        topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': -1 },
        bindingVersion: '0.5.0',
      },
    },
  };
}

function operation(name: string, summary: string): Json {
  return { action: 'receive', summary, channel: { $ref: `#/channels/${name}` }, security: SECURITY };
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
