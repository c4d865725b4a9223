import { beforeAll, describe, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import { type FindErased, findErasedIn } from '#shared/access/erased-stores.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { COLLECTIONS, type ReadModelDocument, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import { anOrder } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';
import type { TestChange } from '#test/query-service.ts';
import { applyEvents } from '#test/slices.ts';

const order = (id: string) => anOrder(id);

describe('positions', () => {
  const installation = useInstallation();
  let findErased: FindErased;
  let databases = 0;
  beforeAll(async () => {
    findErased = findErasedIn(installation.mongodb.db(`${installation.config.namePrefix}_control`), 'e');
  });

  const fresh = () => {
    databases += 1;
    return emptyReadModels(installation, `positions${databases}`);
  };

  const apply = (db: Db, events: readonly TestChange[], options: { epochs?: Epochs; isKnown?: boolean } = {}) =>
    applyEvents(db, events, { findErased, ...options });

  const stampIn = (db: Db) => db.collection<Stamp>(STAMPS).findOne({ _id: 's1' });
  const epochsOf = async (db: Db) => epochsIn((await stampIn(db))?.epochs);
  /** As it was after the first order. */
  async function goBackTo(db: Db, stamp: Stamp | null): Promise<void> {
    if (stamp === null) throw new Error('no stamp');
    await db.collection<Stamp>(STAMPS).replaceOne({ _id: 's1' }, stamp);
    await db.collection<ReadModelDocument>(COLLECTIONS.order).deleteMany({ feed_position: { $gt: 1 } });
  }

  describe('are given under an epoch', () => {
    it('that goes on as long as the same process gives them', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      await apply(db, [order('o1'), order('o2')], { epochs });
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }]);
      expect((await stampIn(db))?.position).toBe(4);
    });

    it('that ends where another process gives one', async () => {
      const db = await fresh();
      const ours = new Epochs();
      await apply(db, [order('o1')], { epochs: ours });
      await apply(db, [order('o2')]);
      await apply(db, [order('o3')], { epochs: ours });
      const epochs = await epochsOf(db);
      expect(epochs).toMatchObject([{ from: 1 }, { from: 2 }, { from: 3 }]);
      expect(new Set(epochs.map(({ id }) => id)).size).toBe(3);
    });

    it('that ends where nobody knows whether a commit succeeded', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      await apply(db, [order('o2')], { epochs, isKnown: false });
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }, { from: 3 }]);
    });

    it('that ends where a commit of unknown outcome succeeded and was then lost with the database', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      const backup = await stampIn(db);
      await apply(db, [order('o2')], { epochs, isKnown: false });
      await goBackTo(db, backup);
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }, { from: 2 }]);
    });

    it('that ends where the database is an older one, also if the same process goes on', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      const backup = await stampIn(db);
      await apply(db, [order('o2'), order('o3')], { epochs });
      await goBackTo(db, backup);
      await apply(db, [order('o2'), order('o3')], { epochs });
      const [first, second, ...others] = await epochsOf(db);
      expect([first, second, others]).toMatchObject([{ from: 1 }, { from: 2 }, []]);
      expect(first?.id).not.toBe(second?.id);
    });
  });
});
