/**
 * What documents have in common. That their answers are right `test/model.integration.test.ts`
 * says, and that no document changes unnoticed `version.unit.test.ts`.
 */
import { expect, it } from 'vitest';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { MINIMAL } from '#test/changes.ts';
import { COMPLETE_STATES } from '#test/complete-states.ts';
import { project } from './project.ts';

it.each(ENTITY_NAMES)('the document of a %s is the same for null and absent fields', (entity) => {
  const least = MINIMAL[entity];
  const nulls = Object.fromEntries(
    Object.keys(COMPLETE_STATES[entity]).map((name) => [name, null]),
  );
  expect(project(entity, { ...nulls, ...least })).toEqual(project(entity, least));
});

it.each(ENTITY_NAMES)(
  'the summary of a %s begins with the id, which feeds read there',
  (entity) => {
    const [first] = Object.keys(project(entity, MINIMAL[entity])['summary'] as object);
    expect(first).toBe('id');
  },
);
