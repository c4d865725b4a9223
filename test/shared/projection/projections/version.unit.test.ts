/**
 * A release that makes different documents of the same events needs another `PROJECTION_VERSION`: a
 * hash of all examples checks that.
 */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { BSON } from 'mongodb';
import { expect, test } from 'vitest';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { PROJECTION_HASH } from '#shared/read-models/generation.ts';
import { COMPLETE_STATES } from '#test/complete-states.ts';
import { project } from './project.ts';

test('the documents of all examples match the hash of this version', async () => {
  const examples = JSON.parse(await readFile('shared/events/examples.json', 'utf8')) as Record<
    string,
    { data: object }
  >;
  const documents = ENTITY_NAMES.flatMap((entity) =>
    [examples[entity]?.data ?? {}, COMPLETE_STATES[entity]].flatMap((state) =>
      [false, true].map((customerErased) => project(entity, state, customerErased)),
    ),
  );
  const found = hash('sha256', BSON.EJSON.stringify(documents)).slice(0, 16);
  expect(
    PROJECTION_HASH,
    `the projections make other documents: in shared/read-models/generation.ts, raise PROJECTION_VERSION once for each release, and set PROJECTION_HASH to ${found}`,
  ).toBe(found);
});
