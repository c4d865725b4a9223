/**
 * A release that makes different documents of the same events needs another `PROJECTION_VERSION`: a
 * hash of all examples checks that.
 */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { BSON } from 'mongodb';
import { expect, test } from 'vitest';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { COMPLETE_STATES } from '#test/complete-states.ts';
import { project } from './project.ts';

/** The hash of a version's documents: a new hash needs a new version. */
const HASHES: Readonly<Record<number, string>> = {
  7: '0f580bcd69cad5ae',
};

test('the documents of all examples match the hash of this version', async () => {
  const examples = JSON.parse(await readFile('shared/events/examples.json', 'utf8')) as Record<
    string,
    { data: object }
  >;
  const documents = ENTITY_NAMES.flatMap((entity) =>
    [examples[entity]?.data ?? {}, COMPLETE_STATES[entity]].flatMap((state) =>
      [false, true].map((customerErased) => project(entity, state, { customerErased })),
    ),
  );
  const found = hash('sha256', BSON.EJSON.stringify(documents)).slice(0, 16);
  expect(
    HASHES[PROJECTION_VERSION],
    `the projections make other documents (${found}): raise PROJECTION_VERSION, and add its hash here`,
  ).toBe(found);
});
