import { isDeepStrictEqual } from 'node:util';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import fc from 'fast-check';
import type { Db } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import { RANK_NODES, stampsIn } from '#shared/read-models/collections.ts';
import { nameKey } from '#shared/read-models/rank-tree/keys.ts';
import type { LeafTexts, RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { bytesOfTexts } from '#shared/read-models/search-texts.ts';
import { aCustomer, gone } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import type { TestChange } from '#test/events.ts';
import {
  applyEvents,
  differencesIn,
  findErased,
  inTransaction,
  repair,
  sliceOf,
} from '#test/slices.ts';

describe('rank trees', () => {
  const installation = useInstallation();
  const trees = new TreeCache();
  afterAll(withSmallTrees(4, 3));

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

  const customer = (id: number, name: string) => aCustomer(`c${id}`, { name, phone: `11 9${id}` });

  it('also split leaves by the bytes of their texts, so that long names make short leaves', async () => {
    const BYTES = 2_000;
    onTestFinished(withSmallTrees(50, 3, BYTES));
    const named = (id: number, length: number) => customer(id, `${'한'.repeat(length)}${id}`);
    const slice = fc.array(fc.record({ id: fc.nat(90), length: fc.nat(40) }), {
      minLength: 1,
      maxLength: 60,
    });
    const lengths = fc.array(slice, { minLength: 3, maxLength: 8 });
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(lengths, async (all) => {
        const db = await emptyReadModels(installation);
        const slices = all.map((slice) => slice.map(({ id, length }) => named(id, length)));
        const first = times(80, (id) => named(id, id % 41));
        await apply(db, [first, ...slices], (index) => index === 2);
        expect(await differencesIn(db)).toEqual([]);
        const within = async () => {
          const leaves = await db
            .collection<LeafTexts>(RANK_NODES)
            .find({ _id: /^customer\/s1\/leaf\// })
            .toArray();
          for (const { total, texts } of leaves) {
            if (total > 1) expect(bytesOfTexts(texts)).toBeLessThanOrEqual(BYTES);
          }
          cut = Math.max(cut, leaves.length);
        };
        await within();
        await repair(db);
        expect(await differencesIn(db)).toEqual([]);
        await within();
      }),
      { numRuns: 3, endOnFailure: true },
    );
    // By number alone there would be two or three.
    expect(cut).toBeGreaterThan(8);
  });

  it('write few documents if a customer goes whose name is the beginning of a node, and keep no part of that name', async () => {
    const left = times(50, (id) => {
      // Two letters that many share.
      const name = String.fromCodePoint(97 + (id % 20), 97 + ((id * 7) % 26)) + id;
      return { name, key: nameKey(name, `c${id}`), change: customer(id, name) };
    });
    const db = await emptyReadModels(installation);
    await apply(db, [left.map(({ change }) => change)]);
    const LEVELS = ['customer/s1/0/', 'customer/s1/leaf/'] as const;
    const stored = async () => {
      const all = await db
        .collection<RankNode | LeafTexts>(RANK_NODES)
        .find({ _id: /^customer\// })
        .toArray();
      return new Map(all.map((node) => [node._id, node]));
    };
    for (let before = await stored(); ;) {
      const [level] = LEVELS;
      const first = [...before.keys()].find((id) => id.startsWith(level) && id !== level);
      if (first === undefined) break;
      const boundary = first.slice(level.length);
      const person = left.find(({ key }) => key.startsWith(boundary));
      if (person === undefined) throw new Error('a boundary shows a name that is gone');
      left.splice(left.indexOf(person), 1);
      await apply(db, [[gone(person.change)]]);
      const after = await stored();
      const ids = [...new Set([...before.keys(), ...after.keys()])];
      const changed = ids.filter((id) => !isDeepStrictEqual(before.get(id), after.get(id)));
      // Of some 60: in each level a node begins elsewhere.
      expect(changed.length).toBeLessThanOrEqual(20);
      const boundaries = [
        ...[...after.values()].flatMap((node) => ('boundaries' in node ? node.boundaries : [])),
        ...[...after.keys()].map((id) =>
          id.slice(LEVELS.find((prefix) => id.startsWith(prefix))?.length ?? id.length),
        ),
      ];
      expect(boundaries.filter((one) => !left.some(({ key }) => key.startsWith(one)))).toEqual([]);
      if (left.length % 10 === 0) expect(await differencesIn(db)).toEqual([]);
      before = after;
    }
    expect(left.length).toBeLessThan(20);
    expect(await differencesIn(db)).toEqual([]);
  });

  it('are rebuilt from the records if a node is missing', async () => {
    const db = await emptyReadModels(installation);
    const people = times(60, (id) => customer(id, `nome ${id % 7}`));
    await apply(db, [people.slice(0, 50)]);
    const nodes = db.collection<RankNode>(RANK_NODES);
    await nodes.deleteOne({ _id: /^customer\/s1\/0\/./ });
    expect(await differencesIn(db)).not.toEqual([]);
    // As if by another process: this one's cache is outdated.
    await stampsIn(db).updateOne({ _id: 's1' }, { $set: { 'ranks.customer.version': 'another' } });
    await apply(db, [people]);
    expect(await differencesIn(db)).toEqual([]);
  });
});
