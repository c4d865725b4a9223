import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Db } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import { RANK_NODES, stampsIn } from '#shared/read-models/collections.ts';
import type { LeafTexts, RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { bytesOfTexts } from '#shared/read-models/search-texts.ts';
import { aCustomer } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { emptyReadModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import { repairStore, verifyStore } from '#shared/projection/verify/store.ts';
import type { TestChange } from '#test/query-service.ts';
import { applyEvents, findErased, inTransaction, sliceOf } from '#test/slices.ts';

describe('rank trees', () => {
  const installation = useInstallation();
  const freshDatabase = () => emptyReadModels(installation);
  const trees = new TreeCache();
  let restore: () => void;
  beforeAll(() => {
    restore = withSmallTrees(4, 3);
  });
  afterAll(() => restore());

  /** Applies slices like the projector; an aborted one is applied again. */
  async function apply(
    db: Db,
    all: readonly (readonly TestChange[])[],
    undo: (slice: number) => boolean = () => false,
  ): Promise<void> {
    for (const [index, slice] of all.entries()) {
      if (undo(index)) {
        const undone = inTransaction<object>(db, async (session) => {
          await applyChanges(db, session, sliceOf(slice), { trees, findErased });
          throw new StoreDataError('fenced', 'undone');
        });
        await expect(undone).rejects.toMatchObject({ code: 'fenced' });
      }
      await applyEvents(db, slice, { trees });
    }
  }

  /** Waits until snapshots include the last commit, a moment later. */
  async function verify(db: Db) {
    const stamps = stampsIn(db);
    await eventually('the snapshot is the newest', async () => {
      const [shown, committed] = await Promise.all([
        stamps.find({}, { readConcern: 'snapshot' }).toArray(),
        stamps.find({}).toArray(),
      ]);
      return isDeepStrictEqual(shown, committed);
    });
    return installation.mongodb.withSession({ snapshot: true }, (session) => verifyStore(db, session, 's1'));
  }

  const customer = (id: number, name: string) => aCustomer(`c${id}`, { name, phone: `11 9${id}` });

  it('also split leaves by the bytes of their texts, so that long names make short leaves', async () => {
    const BYTES = 2_000;
    const restoreSizes = withSmallTrees(50, 3, BYTES);
    const named = (id: number, length: number) => customer(id, `${'한'.repeat(length)}${id}`);
    try {
      const lengths = fc.array(
        fc.array(fc.record({ id: fc.integer({ min: 1, max: 90 }), length: fc.integer({ min: 0, max: 40 }) }), {
          minLength: 1,
          maxLength: 60,
        }),
        { minLength: 3, maxLength: 8 },
      );
      let cut = 0;
      await fc.assert(
        fc.asyncProperty(lengths, async (all) => {
          const db = await freshDatabase();
          const slices = all.map((slice) => slice.map(({ id, length }) => named(id, length)));
          const first = Array.from({ length: 80 }, (_, id) => named(id, id % 41));
          await apply(db, [first, ...slices], (index) => index === 2);
          expect(await verify(db)).toEqual([]);
          const within = async () => {
            const leaves = await db
              .collection<LeafTexts>(RANK_NODES)
              .find({ _id: /^customer\/s1\/leaf\// })
              .toArray();
            for (const { total, texts } of leaves) {
              if (total > 1) expect(bytesOfTexts(texts)).toBeLessThanOrEqual(BYTES);
            }
            return leaves.length;
          };
          cut = Math.max(cut, await within());
          await repairStore(db, 's1', findErased);
          expect(await verify(db)).toEqual([]);
          await within();
        }),
        { numRuns: 6, endOnFailure: true },
      );
      // By number alone there would be two or three.
      expect(cut).toBeGreaterThan(8);
    } finally {
      restoreSizes();
    }
  });

  it('are rebuilt from the records if a node is missing', async () => {
    const db = await freshDatabase();
    const people = Array.from({ length: 60 }, (_, id) => customer(id, `nome ${id % 7}`));
    await apply(db, [people.slice(0, 50)]);
    const nodes = db.collection<RankNode>(RANK_NODES);
    await nodes.deleteOne({ _id: /^customer\/s1\/0\/./ });
    expect(await verify(db)).not.toEqual([]);
    // As if by another process: this one's cache is outdated.
    await stampsIn(db).updateOne({ _id: 's1' }, { $set: { 'ranks.customer.version': 'another' } });
    await apply(db, [people]);
    expect(await verify(db)).toEqual([]);
  });
});
