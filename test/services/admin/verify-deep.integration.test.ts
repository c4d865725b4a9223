import fc from 'fast-check';
import type { Db } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import {
  COLLECTIONS,
  lettersIn,
  type OrderDocument,
  type ProductDocument,
  type ReadModelDocument,
  tombstonesIn,
} from '#shared/read-models/collections.ts';
import { MINIMAL } from '#test/changes.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import type { Installation } from '#test/installation.ts';
import { applyAll } from '#test/projectors.ts';
import { readLog } from '#test/read-log.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { stream } from '#test/streams.ts';
import { times } from '#test/times.ts';
import { withAdmin } from '#test/topics.ts';
import { runCommand, type VerifyAnswer } from './run-command.ts';

interface Answer extends VerifyAnswer {
  code: number | null;
  deep: { records: number; messages: number };
}

async function verify({ env }: Installation, flags = ''): Promise<Answer> {
  const { code, stdout, stderr } = await runCommand(env, `verify --deep --json${flags}`);
  if (stdout === '') throw new Error(stderr);
  return { ...(JSON.parse(stdout) as Answer), code };
}

describe('verify --deep', () => {
  const installation = useInstallation({ partitions: 1 });
  const projector = useRestartableProjector(installation);
  let topic: string;
  let db: Db;
  beforeAll(async () => {
    topic = changesTopic(installation.environment);
    // Versions in any order, deletions, customers that return, changes of the offset.
    await installation.publish(fc.sample(stream, { numRuns: 4, seed: 20_261_121 }).flat());
    await installation.send(topic, [{ key: 's1', value: 'poison' }]);
    const product = { entity: 'product', storeId: 's9', subject: 'p1', sequence: 1 };
    await installation.publish([
      { ...product, data: MINIMAL.product },
      ...['o1', 'o2', 'o3', 'o4'].map((id) => order(id)),
      { ...order('o4', 2), action: 'deleted', data: undefined },
    ]);
    await projector.start();
    await caughtUp(installation);
    db = await readModels(installation);
  });

  const order = (id: string, sequence = 1) =>
    orderEvent(id, { storeId: 's9', sequence, data: { notes: 'Iracema Tabajara' } });

  it('finds no difference while a projector works', async () => {
    const busy = installation.publish(
      times(500, (index) => order(`busy${index % 50}`, 1 + Math.floor(index / 50))),
    );
    const answer = await verify(installation);
    await busy;
    expect(answer).toMatchObject({ code: 0, stores: 4, differences: [] });
    expect(answer.deep.records).toBeGreaterThan(30);
    expect(answer.deep.messages).toBeGreaterThan(200);
    await caughtUp(installation);
    const { stdout } = await runCommand(installation.env, 'verify --deep --store s9');
    expect(stdout).toMatch(/^1 stores verified, 54 records compared .*: no differences\n$/);
  });

  it('drops the database of a killed command, and keeps that of a running one', async () => {
    const { config, environment, mongodb } = installation;
    const prefix = `${config.namePrefix}_${environment}_v`;
    const now = Date.now();
    const databaseOf = async (begun: number, silentMs: number) => {
      const own = mongodb.db(`${prefix}${begun.toString(36)}`);
      const alive = { _id: 'verification' as never, alive_at: new Date(now - silentMs) };
      await own.collection('generation').insertOne(alive);
      return own;
    };
    await databaseOf(now, 100_000);
    const working = await databaseOf(now - 1, 0);
    expect((await verify(installation)).code).toBe(0);
    const { databases } = await mongodb.db().admin().listDatabases({ nameOnly: true });
    expect(databases.map(({ name }) => name).filter((name) => name.startsWith(prefix))).toEqual([
      working.databaseName,
    ]);
    await working.dropDatabase();
  });

  it('respects messages that were dead letters until a retry, and dropped ones', async () => {
    // As if an older release had not understood the event: it has a letter instead of a document.
    await projector.stop();
    await installation.publish([order('late')]);
    const message = (await readLog(installation, topic)).at(-1);
    if (message === undefined) throw new Error('it was published');
    const position = Number(message.offset) + 1;
    await checkpointsIn(db).updateOne({ _id: `${topic}/0` }, { $set: { position } });
    expect((await verify(installation, ' --store s9')).differences).toMatchObject([
      { what: 'order late', stored: 'missing', counted: 'version 1' },
    ]);
    const letter = toDeadLetter(topic, 0, message, new EventRejected('unknown_type', 'not then'));
    await lettersIn(db).insertOne(letter);
    expect((await verify(installation, ' --store s9')).differences).toEqual([]);
    const drop = await runCommand(installation.env, `dead-letters drop ${letter._id} --yes`);
    expect(drop.code).toBe(0);
    expect((await verify(installation, ' --store s9')).differences).toEqual([]);
  });

  it('finds a damaged body, version and tree key, an extra document, and a missing one', async () => {
    const orders = db.collection<OrderDocument>(COLLECTIONS.order);
    const third = await orders.findOneAndDelete({ _id: 's9/o3' });
    if (third === null) throw new Error('there is an order o3');
    await orders.updateOne({ _id: 's9/o1' }, { $set: { whole: '{}' } });
    await orders.updateOne({ _id: 's9/o2' }, { $set: { sequence: 7 } });
    await orders.insertMany(['s9/o4', 's9/o5'].map((_id) => ({ ...third, _id })));
    const products = db.collection<ProductDocument>(COLLECTIONS.product);
    await products.updateOne({ _id: 's9/p1' }, { $set: { summary: '{}' } });
    const of = (store_id: string) => ({ store_id, feed_position: 1 });
    await tombstonesIn(db).insertOne({
      ...of('s9'),
      _id: 'order/s9/o2',
      entity: 'order',
      sequence: 9,
    });
    const store = { ...of('s0'), _id: 's0/s0', sequence: 1, offset: '-03:00', summary: '{}' };
    await db.collection<ReadModelDocument>(COLLECTIONS.store).insertOne(store);

    const answer = await verify(installation);
    expect(answer.code).toBe(1);
    const found = answer.differences.map(({ store, what, stored, counted }) =>
      [store, what, stored, counted].join(': '),
    );
    expect(found).toEqual(
      expect.arrayContaining([
        's0: the store: records: no event',
        's9: order o1: other whole: version 1 as projected',
        's9: order o2: deleted in version 9: not deleted',
        's9: order o2: version 7: version 1',
        's9: order o3: missing: version 1',
        's9: order o4: a document: deleted in version 2',
        's9: order o5: a document: no event',
        's9: product p1: other summary: version 1 as projected',
      ]),
    );
    expect(JSON.stringify(answer)).not.toContain('Iracema');
  });
});

describe('verify --deep of a topic that got more partitions', () => {
  const installation = useInstallation({ partitions: 1 });
  beforeAll(async () => {
    const topic = changesTopic(installation.environment);
    const before = fc.sample(stream, { numRuns: 4, seed: 20_261_122 }).flat();
    const after = fc.sample(stream, { numRuns: 4, seed: 20_261_123 }).flat();
    const back = { entity: 'customer', storeId: 's2', subject: 'back' };
    const present = { ...back, data: MINIMAL.customer };
    const order = (id: string) =>
      orderEvent(id, { storeId: 's2', data: { customer: { id: 'back', name: 'Iracema' } } });
    // A source repeats its last event, which lands in another partition.
    const last = order('twice');
    await installation.publish([
      ...before,
      { ...present, sequence: 1 },
      order('named'),
      { ...back, sequence: 2, action: 'deleted' },
      last,
    ]);
    const topicPartitions = [{ topic, count: 5 }];
    await withAdmin(installation.kafka, (admin) => admin.createPartitions({ topicPartitions }));
    await installation.publish([last, { ...present, sequence: 3 }, order('later'), ...after]);
    await applyAll(installation);
  });

  it('finds no difference, and counts each store once', async () => {
    const { differences, deep } = await verify(installation);
    expect(differences).toEqual([]);
    const db = await readModels(installation);
    let records = 0;
    for (const name of Object.values(COLLECTIONS))
      records += await db.collection(name).countDocuments();
    expect(deep.records).toBe(records);
    expect(records).toBeGreaterThan(20);
  });

  it('finds damage of a store in two partitions', async () => {
    const orders = (await readModels(installation)).collection<OrderDocument>(COLLECTIONS.order);
    await orders.updateOne({ _id: 's2/twice' }, { $set: { whole: '{}' } });
    await orders.updateOne({ _id: 's2/named' }, { $set: { sequence: 7 } });
    expect((await verify(installation, ' --store s2')).differences).toMatchObject([
      { store: 's2', what: 'order named', stored: 'version 7' },
      { store: 's2', what: 'order twice', stored: 'other whole' },
    ]);
  });
});
