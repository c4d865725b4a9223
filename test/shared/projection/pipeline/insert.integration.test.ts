import type { Db } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { insertDocuments } from '#shared/projection/pipeline/apply.ts';
import { COLLECTIONS, type ReadModelDocument } from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';

const installation = useInstallation();
let db: Db;
beforeAll(async () => {
  db = await emptyReadModels(installation);
});

function documents(names: readonly string[], summary = '{}'): ReadModelDocument[] {
  return names.map((name) => ({
    _id: `s1/${name}`,
    store_id: 's1',
    sequence: 1,
    offset: '-03:00',
    summary,
    feed_position: 1,
  }));
}

const idsLike = async (prefix: string) =>
  (
    await db
      .collection<ReadModelDocument>(COLLECTIONS.coupon)
      .find({ _id: { $gte: `s1/${prefix}`, $lt: `s1/${prefix}~` } }, { projection: { _id: 1 } })
      .toArray()
  ).map(({ _id }) => _id);

const insert = (found: readonly ReadModelDocument[]) =>
  installation.mongodb.withSession(async (session) => {
    session.startTransaction();
    await insertDocuments(db, session, COLLECTIONS.coupon, found);
    await session.commitTransaction();
  });

describe('documents of a slice', () => {
  it('are inserted although they are more than one command holds', async () => {
    // Three bytes each: 27 MiB.
    const text = '€'.repeat(3 * 1_048_576);
    await insert(documents(['b1', 'b2', 'b3'], text));
    // As much as a document may be, but for its other fields.
    await insert(documents(['b4'], 'x'.repeat(16 * 1_048_576 - 1_024)));
    expect(await idsLike('b')).toEqual(['s1/b1', 's1/b2', 's1/b3', 's1/b4']);
  });
});
