/** `events`: what an event of an entity holds, and an example that can be sent as it is. */
import { Argument, type Command } from 'commander';
import { AccessKeyData, StoreAccessData } from '#shared/events/access-event.ts';
import { describeFields, type FieldDescription } from '#shared/events/describe-fields.ts';
import { entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { Address } from '#shared/events/fields.ts';
import { jsonOption } from '../options.ts';
import { print, printJson } from '../output/print.ts';
import { renderTable } from '../output/table.ts';

const SCHEMAS = { ...entitySchemas, access_key: AccessKeyData, store_access: StoreAccessData };
const NAMES = Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[];

const EXAMPLES = `
Without a name it lists all of them with what each requires. The same is in
docs/events.md. No server is asked.

Examples:
  npm run store-data -- events
  npm run store-data -- events order
  npm run --silent store-data -- events order --json | jq -c .example`;

export function addEventsCommand(program: Command): void {
  program
    .command('events')
    .description('Show the fields of an event, and an example')
    .addArgument(new Argument('[entity]', 'of what').choices(NAMES))
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action((entity: keyof typeof SCHEMAS | undefined, flags: { json?: true }) => {
      if (entity === undefined) list(flags);
      else show(entity, flags);
    });
}

function list({ json }: { json?: true }): void {
  const found = NAMES.map((entity) => ({
    entity,
    required: describeFields(SCHEMAS[entity]).flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
  }));
  if (json) printJson(found);
  else {
    print(
      renderTable(
        [{ title: 'ENTITY' }, { title: 'REQUIRED', fills: true }],
        found.map(({ entity, required }) => [entity, required.join(' ')]),
      ),
    );
  }
}

function show(entity: keyof typeof SCHEMAS, { json }: { json?: true }): void {
  const fields = describeFields(SCHEMAS[entity]);
  const example = exampleEvent(entity);
  if (json) {
    const described = fields.map(({ name, type, isRequired, whenAbsent }) => ({
      name,
      type,
      required: isRequired,
      when_absent: whenAbsent,
    }));
    printJson({ entity, fields: described, example });
    return;
  }
  print(tableOf(fields));
  if (fields.some(({ type }) => type.includes('address')))
    print(`\naddress:\n${tableOf(describeFields(Address))}`);
  print(`\n${JSON.stringify(example, null, 2)}`);
}

function tableOf(fields: readonly FieldDescription[]): string {
  return renderTable(
    [{ title: 'FIELD' }, { title: 'TYPE', fills: true }, { title: 'WHEN ABSENT' }],
    fields.map(({ name, type, isRequired, whenAbsent }) => [
      name,
      type.replaceAll('`', ''),
      isRequired ? '(required)' : (whenAbsent ?? '').replaceAll('`', ''),
    ]),
  );
}
