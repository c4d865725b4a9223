/** The envelope of change feeds (rule R10.1). */
import type { EntityName } from '#shared/events/entities.ts';
import { FEED_KINDS, nameOfKind } from './kinds.ts';
import { MAX_CHANGES } from '../parameters/filters.ts';
import {
  arrayOf,
  COMPONENT,
  described,
  Flag,
  Id,
  part,
  record,
  type Reference,
  type Schema,
  TimezoneOffset,
} from '../records/fields.ts';

/** Changes of records of one kind. */
export function changesOf(kind: EntityName): Reference {
  const { summary } = FEED_KINDS[kind];
  const changed = exampleOf(kind);
  const deleted = { ...changed, id: `${changed.id}-2`, deleted: true, record: null };
  // A store has one record of its own.
  const examples = kind === 'store' ? [changed] : [changed, deleted];
  return envelope(`${summary[COMPONENT].name}Changes`, changeOf(kind), examples);
}

/** Changes of records of several kinds. */
export function changesOfKinds(kinds: readonly EntityName[]): Reference {
  const change = {
    anyOf: kinds.map(changeOf),
    title: 'Change',
    description: 'The newest state of a record that changed; `kind` says of which kind.',
  };
  return envelope('Changes', change, kinds.slice(0, 2).map(exampleOf));
}

function exampleOf(kind: EntityName) {
  const { example = {} } = FEED_KINDS[kind].summary[COMPONENT];
  return { kind: nameOfKind(kind), id: example.id ?? '', deleted: false, record: example };
}

function changeOf(kind: EntityName): Reference {
  const { summary, whole } = FEED_KINDS[kind];
  const isSame = summary === whole;
  return part(`${summary[COMPONENT].name}Change`, 'The newest state of a record that changed.', {
    kind: { type: 'string', const: nameOfKind(kind), description: 'Of which kind the record is.' },
    id: Id,
    deleted: described(Flag, 'Whether the record is deleted. One that is made again later is told again.'),
    record: {
      anyOf: [summary, ...(isSame ? [] : [whole]), { type: 'null' }],
      description: `The record${isSame ? '' : ', as `records` asks for it'}; \`null\` where it is deleted.`,
    },
  });
}

function envelope(title: string, change: Schema, results: readonly object[]): Reference {
  return record(
    title,
    'Records that changed, each at its newest state, in the order in which their last changes took effect here.',
    {
      results: {
        ...arrayOf(change, 'The changes after `after`, oldest first. A record is there at most once.'),
        maxItems: MAX_CHANGES,
      },
      timezone_offset: described(
        TimezoneOffset,
        'The offset in which the date-times of these records are given. A store that moves to another offset changes no other record: read the date-times that you have kept with the offset that they came with.',
      ),
      next: {
        type: 'string',
        pattern: '^[A-Za-z0-9_-]{1,200}$',
        description:
          'Where to go on, as `after`. Store it together with what you make of the results. It does not expire.',
      },
      more: described(Flag, '`true`: there are more changes, ask again at once. `false`: this is all for now.'),
    },
    {
      results,
      timezone_offset: '-03:00',
      next: 'AWxvOZ8yZ0fkKD3m2vVbU0qkq3tXcA6wAAAAAABiAAAAAABiAAAA',
      more: false,
    },
  );
}
