/**
 * Searches every stored byte in MongoDB, Redis and logs for a customer: before and after the
 * deletion, after later events that name them, and in read models rebuilt from the same log.
 */
import { BSON } from 'mongodb';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProjector } from '#projector/projector.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { MINIMAL } from '#test/changes.ts';
import { startApp, type RunningApp } from '#test/query-service.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';

/** Texts that occur nowhere else. */
const PERSON = {
  name: 'Wanderleia Quixotesca',
  document: '739.164.825-07',
  phone: '+55 84 93716-4825',
};
const EMAIL = 'wanderleia@quixotesca.example';
const STREET = 'Rua Xilófono Azul';
/** The original texts, and their folded forms for sorting and searching. */
const SPELLINGS = [
  ...Object.values(PERSON),
  EMAIL,
  STREET,
  'Wanderleia',
  'wanderleia',
  'quixotesca',
  'xilofono',
  '73916482507',
  '5584937164825',
];
const NEIGHBOURS = 30;

describe('a deleted customer', () => {
  let installation: Installation;
  let projector: Awaited<ReturnType<typeof startProjector>>;
  let app: RunningApp;
  const stopping: (() => Promise<unknown>)[] = [];
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  let sequence = 0;
  beforeAll(async () => {
    // Small trees, so that few records suffice to put names into tree nodes.
    const restore = withSmallTrees(4, 3);
    stopping.push(() => Promise.resolve(restore()));
    installation = await createInstallation({ oneRedis: true, partitions: 1 });
    projector = await startProjector(installation.config, logger);
    stopping.push(() => projector.stop());
    app = await startApp(installation.config, logger);
    stopping.push(() => app.app.close());
  });
  afterAll(async () => {
    for (const stop of stopping.toReversed()) await stop();
    await installation?.close();
  });

  const event = (entity: string, subject: string, data: object | null) => {
    sequence += 1;
    const action = data === null ? ('deleted' as const) : ('changed' as const);
    return { entity, storeId: 's1', subject, sequence, action, ...(data === null ? {} : { data }) };
  };
  const customer = (over: object = {}) =>
    event('customer', 'c1', {
      ...MINIMAL.customer,
      ...PERSON,
      email: EMAIL,
      addresses: [{ street: STREET }],
      ...over,
    });
  const order = (id: string, over: object = {}) =>
    event('order', id, { ...MINIMAL.order, customer: { id: 'c1', ...PERSON }, ...over });
  const review = (id: string, over: object = {}) =>
    event('review', id, {
      ...MINIMAL.review,
      customer_id: 'c1',
      customer_name: PERSON.name,
      ...over,
    });
  /** Valid events and poison messages that name the customer. */
  const everything = (tag: string) => [
    order(`o${tag}`),
    review(`r${tag}`),
    customer({ birth_date: 'no date' }),
    order(`poison${tag}`, { total: 'much' }),
    review(`poison${tag}`, { rating: 'good' }),
  ];

  /** Collections of the installation's databases with a document that contains any spelling. */
  async function foundInMongodb(): Promise<string[]> {
    const found = new Set<string>();
    const prefix = `${installation.config.namePrefix}_`;
    const { databases } = await installation.mongodb.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of databases.filter((database) => database.name.startsWith(prefix))) {
      const db = installation.mongodb.db(name);
      for (const { name: collection } of await db
        .listCollections({}, { nameOnly: true })
        .toArray()) {
        for await (const document of db.collection(collection).find()) {
          if (holdsAny(Buffer.from(BSON.serialize(document)))) found.add(collection);
        }
      }
    }
    return [...found].toSorted();
  }

  async function foundInRedis(): Promise<string[]> {
    const found: string[] = [];
    for await (const keys of installation.redis.scanStream({
      match: `*${installation.config.namePrefix}*`,
    })) {
      for (const key of keys as string[]) {
        const dump = await installation.redis.dumpBuffer(key);
        if (holdsAny(Buffer.from(key)) || (dump !== null && holdsAny(dump))) found.push(key);
      }
    }
    return found;
  }

  const holdsAny = (bytes: Buffer) => SPELLINGS.some((spelling) => bytes.includes(spelling));
  const letters = async () =>
    (await readModels(installation))
      .collection<DeadLetter>(DEAD_LETTERS)
      .find({}, { sort: { offset: 1 } })
      .toArray();

  it('is in read models and dead letters before the deletion', async () => {
    await installation.publish([
      customer(),
      ...Array.from({ length: NEIGHBOURS }, (_, index) =>
        event('customer', `n${index}`, { ...MINIMAL.customer, name: `Vizinho ${index}` }),
      ),
    ]);
    await installation.publish(everything('1'));
    await caughtUp(installation);
    expect(await foundInMongodb()).toEqual(
      expect.arrayContaining(['customers', 'dead_letters', 'orders', 'rank_nodes', 'reviews']),
    );
    expect((await letters()).map(({ customers }) => customers)).toEqual([
      ['s1/c1'],
      ['s1/c1'],
      ['s1/c1'],
    ]);
  });

  it('is nowhere after the deletion, even after later events that name them', async () => {
    await installation.publish([event('customer', 'c1', null)]);
    await caughtUp(installation);
    expect(await foundInMongodb()).toEqual([]);

    await installation.publish(everything('2'));
    await caughtUp(installation);
    expect(await foundInMongodb()).toEqual([]);
    const erased = await letters();
    expect(erased.map(({ reason, erased: gone, value }) => [reason, gone, value])).toEqual(
      Array.from({ length: 6 }, () => ['invalid_data', true, null]),
    );
    expect(await foundInRedis()).toEqual([]);
    expect(logs.filter((line) => holdsAny(Buffer.from(line)))).toEqual([]);
    expect(logs.length).toBeGreaterThan(0);
  });
});
