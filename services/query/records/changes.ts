/** The envelope of every change feed (rule R10.1). */
import { type TSchema, Type } from 'typebox';
import { as, Flag, Id, nullable, record, TimezoneOffset } from './fields.ts';

/** Changes of records of one kind. */
export function changesOf(type: TSchema & { title?: string; examples?: unknown }): TSchema {
  const { title, examples } = type;
  if (title === undefined || !Array.isArray(examples))
    throw new TypeError('records have a title and an example');
  const [example] = examples as { id: string }[];
  const change = Type.Object(
    {
      id: Id,
      deleted: as(Flag, 'Whether the record is deleted. One that is made again later is told again.'),
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
      timezone_offset: as(
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
        { id: example?.id, deleted: false, record: example },
        { id: `${example?.id}-2`, deleted: true, record: null },
      ],
      timezone_offset: '-03:00',
      next: 'AWxvOZ8yZ0fkKD3m2vVbU0qkq3tXcA6wAAAAAABiAAAAAABiAAAA',
      more: false,
    },
  );
}
