import { expect, it } from 'vitest';
import { insertDocuments } from '#shared/projection/pipeline/apply.ts';
import { COLLECTIONS, type ReadModelDocument } from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels, idsIn } from '#test/read-models.ts';

const MIB = 1_048_576;
const installation = useInstallation();

it('a slice inserts more documents than one command can hold', async () => {
  const db = await emptyReadModels(installation);
  const named = (name: string, summary: string): ReadModelDocument => ({
    _id: `s1/${name}`,
    store_id: 's1',
    sequence: 1,
    offset: '-03:00',
    summary,
    feed_position: 1,
  });
  const insert = (...documents: ReadModelDocument[]) =>
    installation.mongodb.withSession((session) =>
      session.withTransaction(() => insertDocuments(db, session, COLLECTIONS.coupon, documents)),
    );
  // Three bytes per character: 18 MiB. A transaction of much more does not fit into the cache of a
  // small server.
  const text = '€'.repeat(3 * MIB);
  await insert(named('b1', text), named('b2', text));
  // The maximum document size, minus other fields.
  await insert(named('b3', 'x'.repeat(16 * MIB - 1_024)));
  expect(await idsIn(db, COLLECTIONS.coupon)).toEqual(['s1/b1', 's1/b2', 's1/b3']);
});
