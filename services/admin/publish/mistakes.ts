/** All mistakes of an event, and its ignored fields, for developers of publishers. */
import { ATTRIBUTES, entityInType } from '#shared/events/cloud-event.ts';
import { EVENT_SCHEMAS, type EventEntity, exampleEvent } from '#shared/events/describe-fields.ts';
import { isId, unknownFields } from '#shared/events/fields.ts';
import { EventRejected, findMistakes } from '#shared/events/rejection.ts';
import { nearestName } from '#shared/nearest.ts';
import { shortened } from '../output.ts';
import { readEventLine } from './publish-stream.ts';

const MAX_FOUND = 20;
const MAX_NAME = 64;

type Attributes = Record<string, unknown>;

/** All mistakes of a message: each attribute, and the data, is read in an otherwise valid event. */
export function allMistakes(message: Buffer, first: EventRejected): EventRejected[] {
  if (first.reason === 'too_large' || first.reason === 'malformed') return [first];
  const given = attributesOf(message);
  const entity = entityOf(given);
  const { data: exampleData, ...example } = exampleEvent(entity ?? 'order');
  const { storeid: named } = given;
  const storeid = typeof named === 'string' && isId(named) ? named : example.storeid;
  // The subject of some events is the store itself.
  const subject = example.subject === example.storeid ? storeid : example.subject;
  const right = { ...example, storeid, subject };
  const found = ATTRIBUTES.flatMap(
    (name) => mistakeOf({ ...right, data: exampleData, [name]: given[name] }) ?? [],
  );
  if (entity !== null && String(given['type']).endsWith('.changed')) {
    const { data, data_base64 } = given;
    const wrong = mistakeOf({ ...right, data, data_base64, dataschema: given['dataschema'] });
    const all =
      wrong?.reason === 'invalid_data' && data_base64 === undefined
        ? findMistakes(EVENT_SCHEMAS[entity], data)
        : [];
    if (all.length > 0)
      found.push(...all.map((detail) => new EventRejected('invalid_data', detail)));
    else if (wrong !== null && !found.some(({ detail }) => detail === wrong.detail))
      found.push(wrong);
  }
  return found.length === 0 ? [first] : found.slice(0, MAX_FOUND);
}

function mistakeOf(event: Attributes): EventRejected | null {
  try {
    const bytes = Buffer.from(JSON.stringify(event));
    readEventLine({ number: 0, bytes, length: bytes.length });
    return null;
  } catch (error) {
    if (error instanceof EventRejected) return error;
    // Data may be nested too deep for JSON.stringify.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** A sentence for each field of the data that the schema lacks. */
export function ignoredFields(message: Buffer): string[] {
  const given = attributesOf(message);
  const entity = entityOf(given);
  if (entity === null) return [];
  const sentences: string[] = [];
  for (const { path, name, known } of unknownFields(EVENT_SCHEMAS[entity], given['data'], 'data')) {
    const nearest = nearestName(name.slice(0, MAX_NAME), known);
    const hint = nearest === null ? '' : `; the nearest is ${nearest}`;
    sentences.push(`${path}.${shortened(name, MAX_NAME)} is unknown and ignored${hint}`);
    if (sentences.length === MAX_FOUND) break;
  }
  return sentences;
}

function attributesOf(message: Buffer): Attributes {
  const parsed: unknown = JSON.parse(message.toString('utf8').replace(/^\uFEFF/, ''));
  return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
}

function entityOf({ type }: Attributes): EventEntity | null {
  const name = entityInType(type) ?? '';
  return Object.hasOwn(EVENT_SCHEMAS, name) ? (name as EventEntity) : null;
}
