/** The parts of an erasure: the slice that deletes customers, and later pieces. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Db } from 'mongodb';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { type ErasedPiece, erasePiece } from '#shared/projection/erasure/pieces.ts';
import {
  COLLECTIONS,
  type DeadLetter,
  type OrderDocument,
  ERASURES,
  REWRITINGS,
  STAMPS,
  stampsIn,
  lettersIn,
} from '#shared/read-models/collections.ts';
import { erasuresIn } from '#shared/read-models/erasures.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import { aCustomer, anOrder, gone } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels, stampOf } from '#test/read-models.ts';
import type { TestChange } from '#test/events.ts';
import { applyEvents, differencesIn, inTransaction, repair } from '#test/slices.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { times } from '#test/times.ts';

const customer = (id: string) => aCustomer(id, { name: 'Maria' });
const deleted = (id: string) => gone(aCustomer(id));
const order = (id: string, customerId: string, over: object = {}) =>
  anOrder(id, { customer: { id: customerId, name: 'Maria', phone: '11 9' }, ...over });
const poison = (id: string, customerId: string) => order(id, customerId, { total: 'much' });

describe('erasing', () => {
  const installation = useInstallation();
  let db: Db;
  let epochs: Epochs;
  beforeEach(async () => {
    db = await emptyReadModels(installation);
    epochs = new Epochs();
  });

  const limits = { admit: (letters: readonly DeadLetter[]) => Promise.resolve([...letters]) };

  const apply = (...changes: TestChange[]) => applyEvents(db, changes, { epochs, limits });

  async function piece(documents = 200): Promise<ErasedPiece> {
    const done = await inTransaction(db, (session) =>
      erasePiece(db, session, 's1', documents, epochs),
    );
    epochs.committed(done.given);
    return done;
  }

  const orders = () => db.collection<OrderDocument>(COLLECTIONS.order);
  const named = () => orders().countDocuments({ whole: /Maria/ });
  const stamp = () => stampOf(db);
  const sorted = { sort: { _id: 1 } } as const;
  const erasures = () => erasuresIn(db).find({}, sorted).toArray();
  const inQueue = () => db.collection(REWRITINGS).find().toArray();
  const letters = () => lettersIn(db).find({}, sorted).toArray();
  const verify = () => differencesIn(db);

  const expectNoneUnderWay = async () => {
    expect([await erasures(), await inQueue()]).toEqual([[], []]);
    expect(await stamp()).not.toHaveProperty('erasing');
  };

  it('is complete in the slice for customers with few orders', async () => {
    await apply(
      ...times(19, (index) => order(`o${index}`, `c${index}`)),
      // The order contains only a document of the customer.
      anOrder('o19', { customer: { id: 'c19', document: '12345678909' } }),
      ...times(9, (index) => poison(`p${index}`, 'c3')),
    );
    const { position = 0 } = await stamp();
    await apply(...times(20, (index) => deleted(`c${index}`)));
    expect(await orders().countDocuments({ whole: /Maria|12345678909/ })).toBe(0);
    await expectNoneUnderWay();
    expect(
      (await letters()).map(({ erased, value, customers }) => [erased, value, customers]),
    ).toEqual(times(9, () => [true, null, undefined]));
    // One position per deletion and order.
    expect((await stamp()).position).toBe(position + 40);
  });

  it('is bounded in a slice with many deletions, and ends in bounded pieces', async () => {
    const id = (index: number) => String(index).padStart(4, '0');
    for (const from of [0, 750])
      await apply(...times(750, (index) => order(`o${id(from + index)}`, `c${id(from + index)}`)));
    const { position } = await stamp();
    await apply(...times(1_500, (index) => deleted(`c${id(index)}`)));
    expect(await named()).toBe(1_000);
    expect((await erasures()).map(({ _id, position: upTo }) => [_id, upTo])).toEqual(
      times(1_000, (index) => [`s1/c${id(index + 500)}`, position]),
    );
    expect(await stamp()).toMatchObject({ erasing: true });
    expect(await inQueue()).toMatchObject([{ _id: 's1/erasures', store_id: 's1', partition: 0 }]);

    let pieces = 0;
    for (let isLast = false; !isLast; pieces += 1) {
      const before = await named();
      ({ isLast } = await piece());
      const fewer = before - (await named());
      expect(fewer).toBeLessThanOrEqual(200);
    }
    expect(pieces).toBeGreaterThanOrEqual(5);
    expect(await named()).toBe(0);
    await expectNoneUnderWay();
    expect(await verify()).toEqual([]);
  });

  it('is bounded by the bytes that it reads', async () => {
    const notes = 'x'.repeat(4_900);
    for (let batch = 0; batch < 4; batch += 1) {
      await apply(...times(250, (index) => order(`o${batch}-${index}`, 'c1', { notes })));
    }
    await apply(deleted('c1'));
    // The slice has erased its part, which the first piece reads again.
    expect(await named()).toBe(500);
    // About 5 KB each, and 2 MiB in all.
    for (const last of [false, false, true]) {
      const { erased, isLast } = await piece(10_000);
      expect(erased).toBeLessThan(450);
      expect(isLast).toBe(last);
    }
    expect(await named()).toBe(0);
  });

  it('begins a new epoch after a piece of unknown outcome that the database has lost', async () => {
    onTestFinished(withSmallErasures());
    await apply(...times(4, (index) => order(`o${index}`, 'c1')));
    await apply(deleted('c1'));
    await piece(1);
    const before = await Promise.all(
      [STAMPS, COLLECTIONS.order, ERASURES].map(async (name) => {
        const collection = db.collection(name);
        return { collection, documents: await collection.find().toArray() };
      }),
    );
    const { position = 0 } = await stamp();
    // Nobody learns how this one ended.
    await inTransaction(db, (session) => erasePiece(db, session, 's1', 1, epochs));
    for (const { collection, documents } of before) {
      for (const one of documents) await collection.replaceOne({ _id: one._id }, one);
    }
    await piece(1);
    expect(epochsIn((await stamp()).epochs).map(({ from }) => from)).toEqual([1, position + 1]);
  });

  it('erases poison before a deletion in the same slice, even if the customer returns', async () => {
    await apply(poison('before', 'c1'), deleted('c1'), customer('c1'), poison('after', 'c1'));
    expect((await letters()).map(({ erased, value }) => [erased, value === null])).toEqual([
      [true, true],
      [undefined, false],
    ]);
  });

  it('can be verified and repaired: erasures, stamp and queue agree', async () => {
    await apply(...times(600, (index) => order(`o${index}`, 'c1')));
    await apply(deleted('c1'));
    expect(await verify()).toEqual([]);
    await stampsIn(db).updateOne({ _id: 's1' }, { $unset: { erasing: '' } });
    await db.collection(REWRITINGS).deleteMany({});
    expect((await verify()).map(({ what, stored, counted }) => [what, stored, counted])).toEqual([
      ['erasures under way, by the stamp', 'none', 'some'],
      ['erasures under way, by the queue', 'none', 'some'],
    ]);
    await repair(db);
    expect(await verify()).toEqual([]);
    expect(await stamp()).toMatchObject({ erasing: true });
    while (!(await piece()).isLast);
    await stampsIn(db).updateOne({ _id: 's1' }, { $set: { erasing: true } });
    expect(await verify()).toHaveLength(1);
    await repair(db);
    expect(await stamp()).not.toHaveProperty('erasing');
    expect(await verify()).toEqual([]);
  });
});
