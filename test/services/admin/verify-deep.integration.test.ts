import fc from 'fast-check';
import type { Db } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import {
  CHECKPOINTS,
  COLLECTIONS,
  type OrderDocument,
  type ProductDocument,
  type ReadModelDocument,
  tombstonesIn,
  lettersIn,
} from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { applyAll } from '#test/projectors.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { stream } from '#test/streams.ts';
import { endsOf, withAdmin } from '#test/topics.ts';
import { runCommand, type VerifyAnswer } from './run-command.ts';

interface Answer extends VerifyAnswer {
  deep: { records: number; messages: number; differences: number };
}

describe('verify --deep', () => {
  const installation = useInstallation({ partitions: 2 });
  const projector = useRestartableProjector(installation);
  let db: Db;
  beforeAll(async () => {
    // Versions in any order, deletions, customers that return, changes of the offset.
    await installation.publish(fc.sample(stream, { numRuns: 4, seed: 20_261_121 }).flat());
    await installation.send(changesTopic(installation.environment), [
      { key: 's1', value: 'poison' },
    ]);
    const of = (entity: string, subject: string, data: object) => ({
      entity,
      storeId: 's9',
      subject,
      sequence: 1,
      data,
    });
    const product = { name: 'Margherita', price: '39.90', position: 0, active: true };
    const options = [{ id: 'o1', name: 'Cheddar', price: '5.00' }];
    await installation.publish([
      of('category', 'k1', { name: 'Pizzas', position: 0, active: true }),
      of('product', 'p1', { ...product, category_id: 'k1', option_group_ids: ['g1'] }),
      of('option_group', 'g1', { name: 'Borda', min: 0, max: 1, options }),
      ...['o1', 'o2', 'o3', 'o4'].map((id) => order(id, 1)),
      { ...order('o4', 2), action: 'deleted', data: undefined },
    ]);
    await restart();
    db = await readModels(installation);
  });

  const customer = { id: 'c1', name: 'Iracema Tabajara' };
  const order = (id: string, sequence: number) =>
    orderEvent(id, { storeId: 's9', sequence, data: { customer } });
  /** Runs a projector until all events are applied. */
  async function restart(): Promise<void> {
    await projector.start();
    await caughtUp(installation);
  }
  const verify = async (
    ...args: string[]
  ): Promise<Answer & { code: number | null; stderr: string }> => {
    const words = ['verify', '--deep', '--json', ...args];
    const { code, stdout, stderr } = await runCommand(installation.env, words);
    if (stdout === '') throw new Error(stderr);
    return { code, stderr, ...(JSON.parse(stdout) as Answer) };
  };

  it('finds no difference while a projector works', async () => {
    const busy = installation.publish(
      Array.from({ length: 500 }, (_, index) =>
        order(`busy${index % 50}`, 1 + Math.floor(index / 50)),
      ),
    );
    const answer = await verify();
    await busy;
    expect(answer).toMatchObject({ code: 0, stores: 4, differences: [] });
    expect(answer.deep.records).toBeGreaterThan(30);
    expect(answer.deep.messages).toBeGreaterThan(200);
    await caughtUp(installation);
    const { stdout } = await runCommand(installation.env, 'verify --deep --store s9');
    expect(stdout).toMatch(/^1 stores verified, 56 records compared .*: no differences\n$/);
  });

  it('drops the database of a killed command, and keeps that of a running one', async () => {
    const { client } = db;
    const now = Date.now();
    const names = [100_000, 0].map((silenceMs, index) => {
      const name = `${installation.config.namePrefix}_${installation.environment}_v${(now - index).toString(36)}`;
      return { name, alive_at: new Date(now - silenceMs) };
    });
    for (const { name, alive_at } of names) {
      await client
        .db(name)
        .collection<{ _id: string }>('generation')
        .insertOne({ _id: 'verification', alive_at } as never);
    }
    expect((await verify()).code).toBe(0);
    const left = (await client.db().admin().listDatabases({ nameOnly: true })).databases.map(
      ({ name }) => name,
    );
    const [killed = '', working = ''] = names.map(({ name }) => name);
    expect(left).not.toContain(killed);
    expect(
      left.filter((name) => name.startsWith(working.slice(0, -8)) && /_v\w{8}$/.test(name)),
    ).toEqual([working]);
    await client.db(working).dropDatabase();
  });

  it('respects messages that were dead letters until a retry, and dropped ones', async () => {
    const topic = changesTopic(installation.environment);
    const letters = lettersIn(db);
    const [letter] = await letters.find({}).toArray();
    if (letter === null || letter === undefined) throw new Error('there is one of the poison');
    // As if an older release had not understood the event: it has a letter instead of a document.
    await projector.stop();
    const before = await endsOf(installation.kafka, topic);
    const published_at = new Date();
    const late = {
      ...encodeEvent({ source: '/test', ...order('late', 1) }),
      timestamp: String(published_at.getTime()),
    };
    await installation.send(topic, [late]);
    const after = await endsOf(installation.kafka, topic);
    const place = [...after].find(([partition, end]) => end > (before.get(partition) ?? 0));
    if (place === undefined) throw new Error('one partition has a message more');
    const [partition, end] = place;
    const checkpoint = { _id: `${topic}/${partition}` as never };
    await db.collection(CHECKPOINTS).updateOne(checkpoint, { $set: { position: end } });
    expect((await verify('--store', 's9')).differences).toMatchObject([
      { what: 'order late', stored: 'missing', counted: 'version 1' },
    ]);
    const _id = `${topic}/${partition}/${end - 1}`;
    const reason = 'unknown_type' as const;
    await letters.insertOne({ ...letter, _id, partition, offset: end - 1, reason, published_at });
    expect((await verify('--store', 's9')).differences).toEqual([]);
    const drop = await runCommand(installation.env, ['dead-letters', 'drop', _id, '--yes']);
    expect(drop.code).toBe(0);
    expect((await verify('--store', 's9')).differences).toEqual([]);
  });

  it('finds a damaged body, version and tree key, an extra document, and a missing one', async () => {
    const orders = db.collection<OrderDocument>(COLLECTIONS.order);
    const third = await orders.findOne({ _id: 's9/o3' });
    if (third === null) throw new Error('there is an order o3');
    await orders.updateOne({ _id: 's9/o1' }, [
      {
        $set: {
          whole: {
            $replaceOne: { input: '$whole', find: '"notes":null', replacement: '"notes":"x"' },
          },
        },
      },
    ]);
    await orders.updateOne({ _id: 's9/o2' }, { $set: { sequence: 7 } });
    await orders.deleteOne({ _id: 's9/o3' });
    await orders.insertOne({ ...third, _id: 's9/o4' });
    await orders.insertOne({ ...third, _id: 's9/o5' });
    await db.collection<ProductDocument>(COLLECTIONS.product).updateOne({ _id: 's9/p1' }, [
      {
        $set: {
          summary: { $replaceOne: { input: '$summary', find: '39.90', replacement: '39.00' } },
        },
      },
    ]);
    await tombstonesIn(db).insertOne({
      _id: 'order/s9/o2',
      store_id: 's9',
      entity: 'order',
      sequence: 9,
      feed_position: 1,
    });
    await db.collection<ReadModelDocument>(COLLECTIONS.store).insertOne({
      _id: 's0/s0',
      store_id: 's0',
      sequence: 1,
      offset: '-03:00',
      summary: '{}',
      feed_position: 1,
    });

    const answer = await verify();
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
    const customer = (sequence: number, action: 'changed' | 'deleted') => ({
      entity: 'customer' as const,
      storeId: 's2',
      subject: 'back',
      sequence,
      action,
      ...(action === 'deleted'
        ? {}
        : { data: { name: 'Iracema', created_at: '2026-11-20T21:15:04Z' } }),
    });
    const order = orderEvent('named', {
      storeId: 's2',
      data: { customer: { id: 'back', name: 'Iracema' } },
    });
    // A source repeats its last event, which lands in another partition.
    const last = { ...order, subject: 'twice', data: { ...order.data, total: '2.00' } };
    await installation.publish([
      ...before,
      customer(1, 'changed'),
      order,
      customer(2, 'deleted'),
      last,
    ]);
    const topicPartitions = [{ topic, count: 5 }];
    await withAdmin(installation.kafka, (admin) => admin.createPartitions({ topicPartitions }));
    await installation.publish([
      last,
      customer(3, 'changed'),
      { ...order, subject: 'later' },
      ...after,
    ]);
    await applyAll(installation);
  });

  const verify = async (...args: string[]) => {
    const { stdout } = await runCommand(installation.env, ['verify', '--deep', '--json', ...args]);
    return JSON.parse(stdout) as Answer;
  };

  it('finds no difference, and counts each store once', async () => {
    const answer = await verify();
    expect(answer.differences).toEqual([]);
    const db = await readModels(installation);
    let records = 0;
    for (const name of Object.values(COLLECTIONS))
      records += await db.collection(name).countDocuments();
    expect(answer.deep.records).toBe(records);
    expect(records).toBeGreaterThan(20);
  });

  it('finds damage of a store in two partitions', async () => {
    const orders = (await readModels(installation)).collection<OrderDocument>(COLLECTIONS.order);
    await orders.updateOne({ _id: 's2/twice' }, { $set: { whole: '{}' } });
    await orders.updateOne({ _id: 's2/named' }, { $set: { sequence: 7 } });
    expect((await verify('--store', 's2')).differences).toMatchObject([
      { store: 's2', what: 'order named', stored: 'version 7' },
      { store: 's2', what: 'order twice', stored: 'other whole' },
    ]);
  });
});
