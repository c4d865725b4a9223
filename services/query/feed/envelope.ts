/** The envelope of change feeds (rule R10.1). */
import { type TSchema, Type } from 'typebox';
import type { EntityName } from '#shared/events/entities.ts';
import { FEED_KINDS, nameOfKind } from './kinds.ts';
import { MAX_CHANGES } from '../parameters/filters.ts';
import { shown } from '../records/envelopes.ts';
import { described, Flag, Id, record, TimezoneOffset } from '../records/fields.ts';

/** Changes of records of one kind. */
export function changesOf(kind: EntityName): TSchema {
  const { summary } = FEED_KINDS[kind];
  const { title, example } = shown(summary);
  const changed = { kind: nameOfKind(kind), id: example.id, deleted: false, record: example };
  const deleted = { kind: nameOfKind(kind), id: `${example.id}-2`, deleted: true, record: null };
  // A store has one record of its own.
  const examples = kind === 'store' ? [changed] : [changed, deleted];
  return envelope(`${title}Changes`, changeOf(kind), examples);
}

/** Changes of records of several kinds. */
export function changesOfKinds(kinds: readonly EntityName[]): TSchema {
  const change = Type.Union(kinds.map(changeOf), {
    title: 'Change',
    description: 'The newest state of a record that changed; `kind` says of which kind.',
  });
  const examples = kinds.slice(0, 2).map((kind) => {
    const { example } = shown(FEED_KINDS[kind].summary);
    return { kind: nameOfKind(kind), id: example.id, deleted: false, record: example };
  });
  return envelope('Changes', change, examples);
}

function changeOf(kind: EntityName): TSchema {
  const { summary, whole } = FEED_KINDS[kind];
  const isSame = summary === whole;
  return Type.Object(
    {
      kind: described(Type.Literal(nameOfKind(kind)), 'Of which kind the record is.'),
      id: Id,
      deleted: described(Flag, 'Whether the record is deleted. One that is made again later is told again.'),
      record: Type.Union([summary, ...(isSame ? [] : [whole]), Type.Null()], {
        description: `The record${isSame ? '' : ', as `records` asks for it'}; \`null\` where it is deleted.`,
      }),
    },
    {
      title: `${shown(summary).title}Change`,
      description: 'The newest state of a record that changed.',
      additionalProperties: false,
    },
  );
}

function envelope(title: string, change: TSchema, results: readonly object[]): TSchema {
  return record(
    title,
    'Records that changed, each at its newest state, in the order in which their last changes took effect here.',
    {
      results: Type.Array(change, {
        maxItems: MAX_CHANGES,
        description: 'The changes after `after`, oldest first. A record is there at most once.',
      }),
      timezone_offset: described(
        TimezoneOffset,
        'The offset in which the date-times of these records are given. A store that moves to another offset changes no other record: read the date-times that you have kept with the offset that they came with.',
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
      results,
      timezone_offset: '-03:00',
      next: 'AWxvOZ8yZ0fkKD3m2vVbU0qkq3tXcA6wAAAAAABiAAAAAABiAAAA',
      more: false,
    },
  );
}
