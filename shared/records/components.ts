/** The components of the OpenAPI document that a record has, each with an example. */
import examples from '../events/examples.json' with { type: 'json' };
import { Id, record, type Reference } from './answer.ts';
import { answersOf } from './field.ts';
import type { RecordDescription } from './record.ts';

/** The entity of an example. */
type Entity = keyof typeof examples;

/** The example of an event, as answers show it. */
function toldBy(entity: Entity) {
  const { subject: id, data: state } = examples[entity];
  return {
    id,
    state,
    time: Date.parse('2026-11-20T21:52:40Z'),
    offset: '-03:00',
    customerErased: false,
  };
}

export function exampleOf(
  entity: Entity,
  { all }: RecordDescription,
): Readonly<Record<string, unknown>> {
  return all(toldBy(entity));
}

/** A record that is shown whole everywhere. */
export function recordComponent(
  name: string,
  description: string,
  one: RecordDescription,
  entity: Entity,
): Reference {
  const fields = { id: Id, ...answersOf({ ...one.fields, ...one.more }) };
  return record(name, description, fields, exampleOf(entity, one));
}

/** A record as lists show it, and the whole of it. */
export function summaryAndWhole(
  name: string,
  what: string,
  one: RecordDescription,
  entity: Entity,
): [Reference, Reference] {
  const summary = { id: Id, ...answersOf(one.fields, true) };
  return [
    record(`${name}Summary`, `${what}, as lists show it.`, summary, one.summary(toldBy(entity))),
    recordComponent(name, `${what}, whole.`, one, entity),
  ];
}
