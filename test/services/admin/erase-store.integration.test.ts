/**
 * The erasure of a store removes it from every generation and from rebuilds, until it publishes
 * again. Its neighbours stay.
 */
import { setTimeout } from 'node:timers/promises';
import { BSON, type Db, type Document, type Filter } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { encodeEvent, accessTopic, changesTopic } from '#shared/events/topics.ts';
import {
  CHECKPOINTS,
  type Stamp,
  STAMPS,
  STORE_RECORDS_PENDING,
} from '#shared/read-models/collections.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { anOrder } from '#test/changes.ts';
import { keyEvent } from '#test/events.ts';
import { generationCaughtUp } from '#test/generations.ts';
import { eventually } from '#test/eventually.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { idOf, recordsOf, type Tenant } from '../../security/tenants.ts';
import { expectRefused, runCommand, runJson, startCommand } from './run-command.ts';

interface Answer {
  generations: { generation: number; documents: Record<string, number> }[];
}

const GONE = 'Xilofone Quebrado';
/** Enough for leaves and nodes. */
const ORDERS = 30;

let service: QueryService;
let restoreTrees: () => void;
let gone: Tenant;
let neighbour: Tenant;
beforeAll(async () => {
  restoreTrees = withSmallTrees(4, 3);
  service = await startQueryService({ environments: 2, partitions: 1 });
  const { environment } = service.installation;
  gone = { name: 'a', storeId: 'gone', environment, secret: GONE, phone: '84937164825' };
  // Has the other one's id as a prefix.
  neighbour = { ...gone, storeId: 'gone-not', secret: 'Violino Novo' };
});
afterAll(async () => {
  await service?.close();
  restoreTrees?.();
});

const json = <T>(...args: string[]) => runJson<T>(service.installation.env, [...args]);
const inFirst = (...args: string[]) =>
  json<Answer>(...args, '-e', service.installation.environment);
const secondEnvironment = () => service.installation.config.environments[1] ?? '';
const order = (storeId: string, id: string, notes: string) =>
  anOrder(id, { notes, customer: { id: 'customer-a', name: notes } }, storeId);

async function fill({ installation, apply, setKey }: QueryService): Promise<void> {
  const { environment, send } = installation;
  for (const tenant of [gone, neighbour]) {
    const { storeId, secret } = tenant;
    await setKey({ clientId: `key-of-${storeId}`, storeId });
    await setKey({ clientId: `second-of-${storeId}`, storeId });
    await apply([
      ...recordsOf(tenant),
      ...Array.from({ length: ORDERS }, (_, index) => order(storeId, `o${index}`, secret)),
      { entity: 'coupon', storeId, id: idOf('coupon', tenant) },
    ]);
    const poison = JSON.stringify({ storeid: storeId, data: { name: secret } });
    await send(changesTopic(environment), [
      { key: storeId, value: `${secret} is no JSON` },
      { key: null, value: poison },
    ]);
    await send(accessTopic(environment), [{ key: storeId, value: poison }]);
  }
  await apply(recordsOf({ ...gone, secret: 'Elsewhere' }), secondEnvironment());
  await setKey({ clientId: 'elsewhere', storeId: 'gone', environment: secondEnvironment() });
  await caughtUp(installation);
  await eventually('poison of access is set aside', async () => {
    return (await controlDb().collection('dead_letters').countDocuments()) === 2;
  });
}

const controlDb = () => service.installation.databases.control;

/** All documents of some databases that contain, or do not contain, a text. */
async function documentsOf(
  dbs: readonly Db[],
  holds: (bytes: Buffer) => boolean,
): Promise<string[]> {
  const found: string[] = [];
  for (const db of dbs) {
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      // These two change with every event, and without events.
      if (name === CHECKPOINTS || name === STORE_RECORDS_PENDING) continue;
      for await (const document of db.collection(name).find({}, { sort: { _id: 1 } })) {
        const bytes = Buffer.from(BSON.serialize(document));
        if (holds(bytes)) found.push(`${db.databaseName}.${name} ${bytes.toString('latin1')}`);
      }
    }
  }
  return found;
}

async function generationDbs(environment = service.installation.environment): Promise<Db[]> {
  const { databases } = service.installation;
  return (await findGenerations(databases, environment)).map(({ db }) => db);
}

const namesGone = (bytes: Buffer) =>
  bytes.includes(GONE) ||
  bytes.includes('xilofone') ||
  /gone(?!-not)/.test(bytes.toString('latin1'));
const others = async () => {
  const elsewhere = await generationDbs(secondEnvironment());
  return [
    ...(await documentsOf(await generationDbs(), (bytes) => !namesGone(bytes))),
    ...(await documentsOf(elsewhere, () => true)),
  ];
};
const ofGone = async () => documentsOf(await generationDbs(), namesGone);
const inRedis = async (pattern: string) => {
  const { redis, config } = service.installation;
  return redis.keys(`${config.namePrefix}:{gone:${service.installation.environment}}:${pattern}`);
};
async function allIsRight(): Promise<void> {
  const { code, stdout, stderr } = await runCommand(service.installation.env, 'verify --deep');
  expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/no differences/)]);
}

describe('stores erase', () => {
  let token: string;
  let etag: string;

  it('removes all data of the store from every generation, and none of others', async () => {
    const { environment } = service.installation;
    await fill(service);
    await json('quota', 'set', '-s', 'gone', '-e', environment, '--requests', '1000');
    await json('rebuild', '-e', environment);
    token = await service.api.token('key-of-gone', 'secret');
    const answer = await service.api.get('/api/order/list', token);
    etag = answer.headers.get('etag') ?? '';
    const before = await others();
    expect(before.length).toBeGreaterThan(100);
    await expectRefused(
      runCommand(service.installation.env, ['stores', 'erase', 'gone', '-e', environment]),
      'give --yes to erase a store for good',
      2,
    );
    const erased = await inFirst('stores', 'erase', 'gone', '--yes');
    const removed = { stores: 1, orders: ORDERS + 1, tombstones: 1, dead_letters: 2 };
    expect(erased.generations).toMatchObject([
      { generation: 1, documents: removed },
      { generation: 2, documents: removed },
    ]);
    expect(await ofGone()).toEqual([]);
    expect(await others()).toEqual(before);
    await allIsRight();
  });

  it('revokes its keys, and keeps only their revocation', async () => {
    expect((await service.api.get('/api/order/list', token)).status).toBe(401);
    expect((await service.api.askToken('key-of-gone', 'secret')).status).toBe(401);
    for (const rest of ['session:*', 'tokens:*', 'quota:*', 'last-tokens']) {
      expect(await inRedis(rest)).toEqual([]);
    }
    const { keys, stores } = controlCollections(controlDb());
    const left = await keys.find({ store_id: 'gone' }).sort({ _id: 1 }).toArray();
    expect(left).toMatchObject([
      { environment: secondEnvironment(), status: 'active' },
      { _id: 'key-of-gone', status: 'revoked', scopes: [], secret_hashes: [] },
      { _id: 'second-of-gone', status: 'revoked', scopes: [], secret_hashes: [] },
    ]);
    const store = await stores.findOne({ store_id: 'gone' });
    expect([store?.access_status, store?.quota]).toEqual(['blocked', undefined]);
    const letters = await controlDb().collection('dead_letters').find().toArray();
    expect(letters.map(({ key }) => String(key))).toEqual(['gone-not']);
    await service.api.token('key-of-gone-not', 'secret');
    await service.api.token('elsewhere', 'secret');
    expect(
      await documentsOf([controlDb()], (bytes) => bytes.includes(hashSecret('secret'))),
    ).toHaveLength(3);
  });

  it('is in the audit, including its changes of access', async () => {
    const { environment } = service.installation;
    type Change = { action: string; outcome: string; environment: string };
    const audit = await json<Change[]>('audit', '--store', 'gone');
    const commands = audit.filter(
      (change) => change.environment === environment && change.outcome === 'done',
    );
    expect(commands.map(({ action }) => action)).toEqual([
      'quota.set',
      'stores.erase',
      'stores.block',
      'keys.revoke',
      'keys.revoke',
    ]);
  });

  it('lets the store begin again with only its later events, also in a rebuild', async () => {
    const { environment } = service.installation;
    const notes = 'Began anew';
    await service.installation.publish([
      { ...order('gone', 'new', notes), subject: 'new', sequence: 1 },
    ]);
    await caughtUp(service.installation);
    // Publishers set the times of messages, which may lie before the erasure.
    const old = {
      ...order('gone', 'old', notes),
      action: 'changed' as const,
      subject: 'old',
      sequence: 1,
    };
    await service.installation.send(changesTopic(environment), [
      { ...encodeEvent({ source: '/test', ...old }), timestamp: '1000000000000' },
    ]);
    await caughtUp(service.installation);
    await service.setKey({ clientId: 'fresh', storeId: 'gone' });
    expect((await service.api.askToken('fresh', 'secret')).status).toBe(400);
    await json('stores', 'unblock', 'gone', '-e', environment);
    const fresh = await service.api.token('fresh', 'secret');
    const list = await service.api.get('/api/order/list', fresh, { 'if-none-match': etag });
    expect(list.json).toMatchObject({ count: 2, results: [{ id: 'new' }, { id: 'old' }] });
    await service.installation.publishAccess([
      { ...keyEvent('key-of-gone', 1_000), storeId: 'gone' },
    ]);
    await service.setKey({ clientId: 'last', storeId: 'gone' });
    expect((await service.api.askToken('key-of-gone', 'secret')).status).toBe(401);

    await generationCaughtUp(service.installation, 1);
    await generationCaughtUp(service.installation, 2);
    await json('rebuild', '-e', environment);
    expect(await documentsOf(await generationDbs(), (bytes) => bytes.includes(GONE))).toEqual([]);
    expect((await service.api.get('/api/order/list', fresh)).json).toMatchObject({ count: 2 });
    await allIsRight();
  });

  it('replaces the former erasure, whose ends would let messages between the two pass', async () => {
    const { installation } = service;
    const { environment } = installation;
    const { stores } = controlCollections(controlDb());
    const erase = async () => {
      await installation.publish([
        { ...order('twice', 't', GONE), subject: 't', sequence: Date.now() },
      ]);
      await caughtUp(installation);
      await inFirst('stores', 'erase', 'twice', '--yes');
      const { erased } = (await stores.findOne({ store_id: 'twice', environment })) ?? {};
      expect(Object.keys(erased ?? {}).toSorted()).toEqual(['at', 'ends', 'sequence']);
      return (erased?.ends ?? []).reduce((sum, { end }) => sum + end, 0);
    };
    const first = await erase();
    await json('stores', 'unblock', 'twice', '-e', environment);
    expect(await erase()).toBeGreaterThan(first);
  });

  it('keeps the time of its erasure after a repair of all that stood there', async () => {
    const stamps = (await readModels(service.installation)).collection<Stamp>(STAMPS);
    const erasedAt = async () => (await stamps.findOne({ _id: 'gone' }))?.erased_at;
    const before = await erasedAt();
    expect(before).toBeInstanceOf(Date);
    await stamps.updateOne({ _id: 'gone' }, [{ $project: { store_id: 1 } }]);
    await json('verify', '--repair', '--store', 'gone', '-e', service.installation.environment);
    expect(await erasedAt()).toEqual(before);
  });

  it(
    'completes after a kill, even while the store’s publisher continues',
    { timeout: 240_000 },
    async () => {
      const { installation } = service;
      const { environment } = installation;
      let index = 0;
      const publish = async (count: number) => {
        const events = Array.from({ length: count }, () => {
          index += 1;
          return { ...order('busy', `b${index}`, GONE), subject: `b${index}`, sequence: index };
        });
        await installation.publish(events);
      };
      await publish(1_500);
      await caughtUp(installation);
      const over = new AbortController();
      const publishing = (async () => {
        while (!over.signal.aborted) {
          await publish(5);
          // Generations apply the events during the erasure: faster ones would pile up.
          await setTimeout(25);
        }
      })();
      const orders = async (filter: Filter<Document> = {}) =>
        (await readModels(installation))
          .collection('orders')
          .countDocuments({ store_id: 'busy', ...filter });
      // Otherwise it would continue during a retry of the test.
      onTestFinished(() => over.abort());
      const command = startCommand(installation.env, [
        'stores',
        'erase',
        'busy',
        '--yes',
        '-e',
        environment,
      ]);
      const ended = command.result.then(({ code, stderr }) =>
        Promise.reject(new Error(`ended with ${code}: ${stderr}`)),
      );
      await Promise.race([
        eventually('it is at work', async () => (await orders()) < 1_500),
        ended,
      ]);
      command.process.kill('SIGKILL');
      expect((await command.result).code).toBeNull();
      // Events of the store are not applied meanwhile.
      await publish(10);
      const published = `busy/b${index}`;
      await caughtUp(installation);
      expect(await orders({ _id: published as never })).toBe(0);
      await inFirst('stores', 'erase', 'busy', '--yes');
      await eventually('it begins again', async () => (await orders()) > 0);
      over.abort();
      await publishing;
    },
  );
});
