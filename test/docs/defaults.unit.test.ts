import { describe, expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { describeFields, type FieldDescription } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, type EntityName, entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { projectDocument } from '#shared/projection/projections/index.ts';

type Json = Record<string, unknown>;

const TIME = '2026-11-20T21:52:40.120Z';
const LOCAL_TIME = '2026-11-20T18:52:40';

/** A value with its required fields alone; where `keepsParts`, objects and lists stay, their own fields left out in the same way. */
function pruned(value: Json, fields: readonly FieldDescription[], keepsParts: boolean, path = ''): Json {
  const kept = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const field = fields.find((described) => described.name === path + name);
    const isPart = typeof inner === 'object' && inner !== null;
    const hasFields = fields.some(
      (described) => described.name.startsWith(`${path}${name}`) && described !== field,
    );
    if (field === undefined || !(field.isRequired || (keepsParts && isPart && hasFields))) return [];
    if (!isPart || !hasFields) return [[name, inner]];
    const prune = (of: Json, at: string) => pruned(of, fields, keepsParts, `${path}${name}${at}.`);
    return [
      [name, Array.isArray(inner) ? inner.map((one: Json) => prune(one, '[]')) : prune(inner as Json, '')],
    ];
  });
  return Object.fromEntries(kept);
}

/** All that answers show of a state. */
function shown(entity: EntityName, data: Json): Json {
  const event = { ...exampleEvent(entity), time: TIME, data };
  const change = readChange({ key: Buffer.from('s1'), value: Buffer.from(JSON.stringify(event)) });
  const document = projectDocument(change, { offset: '-03:00', customerErased: false }) as object as Json;
  const bodies = ['summary', 'whole', 'dates', 'before_groups', 'after_groups'].map((name) => {
    const body = document[name];
    if (typeof body !== 'string') return {};
    return JSON.parse(body.startsWith('{') ? body : `{${body}}`) as Json;
  });
  return Object.assign({}, ...bodies) as Json;
}

/** What stands at `items[].options[].name` in a record's first entries; `undefined` where it has none. */
function valueAt(record: unknown, name: string): unknown {
  let value = record;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[step.replace('[]', '')];
    if (step.endsWith('[]')) value = (value as unknown[] | undefined)?.[0];
  }
  return value;
}

describe('docs/events.md', () => {
  it.each(ENTITY_NAMES)('says what answers show where a field of %s is absent', (entity) => {
    const fields = describeFields(entitySchemas[entity]);
    const example = exampleEvent(entity).data as Json;
    let compared = 0;
    for (const keepsParts of [false, true]) {
      const data = pruned(example, fields, keepsParts);
      const record = shown(entity, data);
      for (const { name, whenAbsent } of fields) {
        // A product's groups are joined when it is read.
        const isGiven = valueAt(data, name) !== undefined || name === 'option_group_ids';
        const value = valueAt(record, name);
        if (whenAbsent === null || isGiven || value === undefined) continue;
        const said: unknown = whenAbsent.startsWith('`') ? JSON.parse(whenAbsent.slice(1, -1)) : LOCAL_TIME;
        expect([name, value]).toEqual([name, said]);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(3);
  });
});
