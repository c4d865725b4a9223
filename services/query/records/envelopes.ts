/** The envelopes of lists (rule R6.1) and of change feeds (rule R10.1). */
import { type TSchema, Type } from 'typebox';
import { described, Flag, Id, nullable, record, TimezoneOffset, Whole } from './fields.ts';

type RecordSchema = TSchema & { title?: string; examples?: unknown };

function shown({ title, examples }: RecordSchema): { title: string; example: { id?: string } } {
  if (title === undefined || !Array.isArray(examples))
    throw new TypeError('records have a title and an example');
  return { title, example: examples[0] as { id?: string } };
}

/** A page of records of one kind. */
export function listOf(type: RecordSchema): TSchema {
  const { title, example } = shown(type);
  return record(
    `${title}List`,
    'One page of records, and how many there are on all pages.',
    {
      count: described(
        Whole,
        'How many records match the filters, on all pages: there are ceil(count / page_size) pages.',
      ),
      page: Type.Integer({ minimum: 1, description: 'The page that this is.' }),
      page_size: Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'How many records a page has at most; what was asked for, at most 100.',
      }),
      results: Type.Array(type, {
        maxItems: 100,
        description: 'The records of the page; empty beyond the last page.',
      }),
    },
    { count: 1, page: 1, page_size: 20, results: [example] },
  );
}

/** Changes of records of one kind. */
export function changesOf(type: RecordSchema): TSchema {
  const { title, example } = shown(type);
  const change = Type.Object(
    {
      id: Id,
      deleted: described(Flag, 'Whether the record is deleted. One that is made again later is told again.'),
      record: nullable(type, 'The record as lists show it; `null` where it is deleted.'),
    },
    {
      title: `${title}Change`,
      description: 'The newest state of a record that changed.',
      additionalProperties: false,
    },
  );
  return record(
    `${title}Changes`,
    'Records that changed, each at its newest state, in the order in which their last changes took effect here.',
    {
      results: Type.Array(change, {
        maxItems: 100,
        description: 'The changes after `after`, oldest first. An id is there at most once.',
      }),
      timezone_offset: described(
        TimezoneOffset,
        'The offset in which the date-times of these records are given. A store that moves to another offset changes no record: read the date-times that you have kept with the offset that they came with.',
      ),
      next: Type.String({
        pattern: '^[A-Za-z0-9_-]{1,200}$',
        description:
          'Where to go on, as `after`. Store it together with what you make of the results. It does not expire.',
      }),
      more: Type.Boolean({
        description: '`true`: there are more changes, ask again at once. `false`: this is all for now.',
      }),
    },
    {
      results: [
        { id: example.id, deleted: false, record: example },
        { id: `${example.id}-2`, deleted: true, record: null },
      ],
      timezone_offset: '-03:00',
      next: 'AWxvOZ8yZ0fkKD3m2vVbU0qkq3tXcA6wAAAAAABiAAAAAABiAAAA',
      more: false,
    },
  );
}
