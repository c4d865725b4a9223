/** The part of `docs/events.md` that is made from the schemas: the fields of every entity and key, and an example of each. */
import { AccessKeyData, StoreAccessData } from '#shared/events/access-event.ts';
import { describeFields, type FieldDescription } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { Address } from '#shared/events/fields.ts';

export function eventsMarkdown(): string {
  const entities = ENTITY_NAMES.map((entity) =>
    section(entity, describeFields(entitySchemas[entity]), exampleEvent(entity).data),
  );
  return [
    '## Fields of `data` on `store-changes`',
    ...entities,
    `### address\n\nOf stores, customers and deliveries.\n\n${table(describeFields(Address))}`,
    '## Fields of `data` on `store-access`',
    section('access_key', describeFields(AccessKeyData), exampleEvent('access_key')),
    section('store_access', describeFields(StoreAccessData), exampleEvent('store_access').data),
  ].join('\n\n');
}

function section(entity: string, fields: readonly FieldDescription[], example: object): string {
  return `### ${entity}\n\n${table(fields)}\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

function table(fields: readonly FieldDescription[]): string {
  const rows = fields.map(
    ({ name, type, isRequired, whenAbsent }) =>
      `| \`${name}\` | ${type} | ${isRequired ? '**required**' : whenAbsent} |`,
  );
  return ['| field | type | when absent |', '| --- | --- | --- |', ...rows].join('\n');
}
