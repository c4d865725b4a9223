/** MongoDB: away, slow, or unable to write. */
import { MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { COLLECTIONS, STAMPS } from '#shared/read-models/collections.ts';
import { erasuresIn } from '#shared/read-models/erasures.ts';
import { orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { failPoint } from '../../servers/replica-set.ts';
import type { Server } from '../../servers/server.ts';
import type { Drill } from '../drill.ts';
import { repeat, STORE } from '../watched.ts';

/** More orders than are erased within seconds. */
const NAMING = 5_000;

/** Delays commands. @returns what ends it. */
const delayed = (mongod: Server, failCommands: string[], blockTimeMS: number) =>
  failPoint(mongod, 'failCommand', { blockConnection: true, blockTimeMS, failCommands });

export const MONGODB: readonly Drill[] = [
  {
    name: 'MongoDB hangs, and answers again',
    alerts: [
      'StoreDataMongodbAway',
      'StoreDataPartitionStands',
      'StoreDataAvailabilityBurnsFast',
      'StoreDataAvailabilityBurnsSlowly',
    ],
    orders: 2,
    requests: 2,
    async cause({ mongod }) {
      mongod.freeze();
      return async () => mongod.resume();
    },
  },
  {
    name: 'reads of MongoDB are slow, and fast again',
    alerts: ['StoreDataSlow'],
    requests: 5,
    cause: ({ mongod }) => delayed(mongod, ['find', 'aggregate'], 550),
  },
  {
    name: 'a publisher sends more than a slow MongoDB takes; it is found and stopped, and MongoDB gets more time',
    alerts: ['StoreDataLagGrows'],
    async cause({ installation, mongod, run }) {
      const end = await delayed(mongod, ['commitTransaction'], 300);
      const over = new AbortController();
      let sequence = 0;
      const some = () => {
        sequence += 1;
        // Large, so that each read of the log says anew where it ends.
        const data = { notes: 'x'.repeat(5_000) };
        return times(100, (index) =>
          orderEvent(`flood${index}`, { storeId: STORE, sequence, data }),
        );
      };
      const flood = repeat(() => installation.publish(some()), 50, over.signal);
      return async () => {
        expect(await run('lag')).toMatch(/\d{5}/);
        over.abort();
        await flood;
        await end();
      };
    },
  },
  {
    name: 'another client holds a document in a transaction, which is found and ended',
    alerts: ['StoreDataPartitionFails', 'StoreDataTransactionsFail'],
    orders: 2,
    async cause({ installation }) {
      const client = new MongoClient(installation.config.mongodb.uri);
      const session = client.startSession();
      session.startTransaction();
      const { databaseName } = await readModels(installation);
      const stamps = client.db(databaseName).collection<{ _id: string }>(STAMPS);
      await stamps.updateOne({ _id: STORE }, { $set: { held: true } }, { session });
      return async () => {
        const admin = installation.mongodb.db('admin');
        const ofSeconds = [
          { $currentOp: { allUsers: true, idleSessions: true } },
          { $match: { 'transaction.timeOpenMicros': { $gt: 5_000_000 } } },
        ];
        let found: { lsid?: unknown }[] = [];
        await eventually('it has been open for seconds', async () => {
          found = await admin.aggregate(ofSeconds).toArray();
          return found.length === 1;
        });
        await admin.command({ killAllSessionsByPattern: found.map(({ lsid }) => ({ lsid })) });
        await client.close();
      };
    },
  },
  {
    name: 'a collection refuses the erasure of a customer by a validator, which is removed',
    alerts: ['StoreDataErasureStands'],
    async cause({ installation, projector }) {
      const db = await readModels(installation);
      const customer = { entity: 'customer', storeId: 'large', subject: 'c1' };
      const data = { name: 'Maria', created_at: '2026-03-01T12:00:00Z' };
      const orders = times(NAMING, (index) =>
        orderEvent(`o${index}`, {
          storeId: 'large',
          data: { customer: { id: 'c1', name: 'Maria' } },
        }),
      );
      await installation.publish([{ ...customer, sequence: 1, data }, ...orders]);
      await caughtUp(installation);
      await installation.publish([{ ...customer, sequence: 2, action: 'deleted' }]);
      await eventually('it begins', async () => (await erasuresIn(db).countDocuments()) === 1);
      await db.command({ collMod: COLLECTIONS.order, validator: { unknown: true } });
      // As if half an hour had passed.
      await erasuresIn(db).updateMany({}, { $set: { began_at: new Date(Date.now() - 1_800_000) } });
      return async () => {
        await projector.logged(({ msg }) => msg === 'customers cannot be erased');
        await db.command({ collMod: COLLECTIONS.order, validator: {} });
      };
    },
  },
];
