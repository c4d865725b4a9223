/** `events`: the fields of an entity's event, and an example that can be published as it is. */
import { Argument } from '@commander-js/extra-typings';
import {
  describeFields,
  EVENT_SCHEMAS,
  type EventEntity,
  exampleEvent,
  type FieldDescription,
} from '#shared/events/describe-fields.ts';
import { address } from '#shared/records/store.ts';
import { command } from '../options.ts';
import { printResult, printRows, tableOf } from '../output.ts';

const NAMES = Object.keys(EVENT_SCHEMAS) as EventEntity[];

export const eventsCommand = () =>
  command('events', 'Show the fields of an event, and an example')
    .addArgument(new Argument('[entity]', 'of what').choices(NAMES))
    .action((entity) => (entity === undefined ? list() : show(entity)));

function list(): void {
  const found = NAMES.map((entity) => ({
    entity,
    required: describeFields(EVENT_SCHEMAS[entity]).flatMap(({ name, isRequired }) =>
      isRequired ? [name] : [],
    ),
  }));
  printRows(found, ['entity', ['REQUIRED', 'required']]);
}

function show(entity: EventEntity): void {
  const fields = describeFields(EVENT_SCHEMAS[entity]);
  const example = exampleEvent(entity);
  const described = fields.map(({ name, type, isRequired, whenAbsent }) => ({
    name,
    type,
    required: isRequired,
    when_absent: whenAbsent,
  }));
  const ofAddress = fields.some(({ type }) => type.includes('address'))
    ? `\naddress:\n${fieldTable(describeFields(address.event))}`
    : '';
  const text = `${fieldTable(fields)}${ofAddress}\n${JSON.stringify(example, null, 2)}`;
  printResult({ entity, fields: described, example }, text);
}

function fieldTable(fields: readonly FieldDescription[]): string {
  const words = (text: string) => text.replaceAll('`', '');
  return tableOf(fields, [
    ['FIELD', 'name'],
    ['TYPE', ({ type }) => words(type)],
    [
      'WHEN ABSENT',
      ({ isRequired, whenAbsent }) => (isRequired ? '(required)' : words(whenAbsent ?? '')),
    ],
  ]);
}
