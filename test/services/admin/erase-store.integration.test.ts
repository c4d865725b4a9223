/**
 * The erasure of a store removes it from every generation and from rebuilds, until it publishes
 * again. Its neighbours stay.
 */
import { setTimeout } from 'node:timers/promises';
import { BSON, type Db } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hashSecret } from '#shared/access/secrets.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, stampsIn, STORE_RECORDS_PENDING } from '#shared/read-models/collections.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { anOrder } from '#test/changes.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { generationCaughtUp } from '#test/generations.ts';
import { eventually } from '#test/eventually.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { times } from '#test/times.ts';
import { idOf, recordsOf } from '../../security/tenants.ts';
import { expectRefused, runCommand, runJson, startCommand } from './run-command.ts';

const SECRET = 'Xilofone Quebrado';
const GONE = { name: 'a', storeId: 'gone', environment: '', secret: SECRET, phone: '84937164825' };
/** Has the other one's id as a prefix. */
const NEIGHBOUR = { ...GONE, storeId: 'gone-not', secret: 'Violino Novo' };
/** Enough for leaves and nodes. */
const ORDERS = 30;

afterAll(withSmallTrees(4, 3));
const service = useQueryService({ environments: 2, partitions: 1 });
let environment: string;
let elsewhere: string;
beforeAll(async () => {
  const { apply, installation, setKey } = service;
  [environment = '', elsewhere = ''] = installation.config.environments;
  for (const tenant of [GONE, NEIGHBOUR]) {
    const { storeId, secret } = tenant;
    await setKey({ clientId: `key-of-${storeId}`, storeId });
    await setKey({ clientId: `second-of-${storeId}`, storeId });
    await apply([
      ...recordsOf(tenant),
      ...times(ORDERS, (index) => anOrder(`o${index}`, { notes: secret }, storeId)),
      { entity: 'coupon', storeId, id: idOf('coupon', tenant) },
    ]);
    const poison = JSON.stringify({ storeid: storeId, data: { name: secret } });
    await installation.send(changesTopic(environment), [
      { key: storeId, value: `${secret} is no JSON` },
      { key: null, value: poison },
    ]);
    await installation.send(accessTopic(environment), [{ key: storeId, value: poison }]);
  }
  await apply(recordsOf({ ...GONE, secret: 'Elsewhere' }), elsewhere);
  await setKey({ clientId: 'elsewhere', storeId: 'gone', environment: elsewhere });
  await caughtUp(installation);
  await eventually('poison of access is set aside', async () => {
    return (await accessLetters().countDocuments()) === 2;
  });
});

const inFirst = <T>(words: string) =>
  runJson<T>(service.installation.env, `${words} -e ${environment}`);
const erase = (storeId: string) =>
  inFirst<{ generations: object[] }>(`stores erase ${storeId} --yes`);
const accessLetters = () => service.installation.databases.control.collection('dead_letters');

/** The documents that hold, or do not hold, a text. */
async function documentsIn(db: Db, holds: (bytes: Buffer) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const collection of await db.collections()) {
    const { collectionName } = collection;
    // These two change with every event, and without events.
    if ([CHECKPOINTS, STORE_RECORDS_PENDING].includes(collectionName)) continue;
    for await (const document of collection.find({}, { sort: { _id: 1 } })) {
      const bytes = Buffer.from(BSON.serialize(document));
      if (holds(bytes)) found.push(`${collection.namespace} ${bytes.toString('latin1')}`);
    }
  }
  return found;
}

/** The same of all generations of an environment. */
async function documentsOf(name: string, holds: (bytes: Buffer) => boolean): Promise<string[]> {
  const generations = await findGenerations(service.installation.databases, name);
  return (await Promise.all(generations.map(({ db }) => documentsIn(db, holds)))).flat();
}

const namesGone = (bytes: Buffer) =>
  /Xilofone Quebrado|xilofone|gone(?!-not)/.test(bytes.toString('latin1'));
const others = async () => [
  ...(await documentsOf(environment, (bytes) => !namesGone(bytes))),
  ...(await documentsOf(elsewhere, () => true)),
];
async function allIsRight(): Promise<void> {
  const { code, stdout, stderr } = await runCommand(service.installation.env, 'verify --deep');
  expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/no differences/)]);
}

describe('stores erase', () => {
  let token: string;
  let etag: string;

  it('removes all data of the store from every generation, and none of others', async () => {
    await inFirst('quota set -s gone --requests 1000');
    await inFirst('rebuild');
    token = await service.api.token('key-of-gone', 'secret');
    const answer = await service.api.get('/api/order/list', token);
    etag = answer.headers.get('etag') ?? '';
    const before = await others();
    expect(before.length).toBeGreaterThan(100);
    await expectRefused(
      runCommand(service.installation.env, `stores erase gone -e ${environment}`),
      'give --yes to erase a store for good',
      2,
    );
    const { generations } = await erase('gone');
    const documents = { stores: 1, orders: ORDERS + 1, tombstones: 1, dead_letters: 2 };
    expect(generations).toMatchObject([
      { generation: 1, documents },
      { generation: 2, documents },
    ]);
    expect(await documentsOf(environment, namesGone)).toEqual([]);
    expect(await others()).toEqual(before);
    const { env } = service.installation;
    const shown = await runCommand(env, `stores show gone -e ${environment}`);
    expect(shown.stdout).toMatch(/^status +blocked: it was erased$/m);
    const exported = await runCommand(env, `stores export gone -e ${environment}`);
    expect(exported).toMatchObject({ code: 0, stdout: '' });
    await allIsRight();
  });

  it('revokes its keys, and keeps only their revocation', async () => {
    const { api, control, inRedis, installation } = service;
    expect((await api.get('/api/order/list', token)).status).toBe(401);
    expect((await api.askToken('key-of-gone', 'secret')).status).toBe(401);
    const { session, tokens, quota, lastTokens } = inRedis('gone');
    for (const prefix of [session(''), tokens(''), quota(''), lastTokens])
      expect(await installation.redis.keys(`${prefix}*`)).toEqual([]);
    expect(await control.keys.find({ store_id: 'gone' }).sort({ _id: 1 }).toArray()).toMatchObject([
      { environment: elsewhere, status: 'active' },
      { _id: 'key-of-gone', status: 'revoked', scopes: [], secret_hashes: [] },
      { _id: 'second-of-gone', status: 'revoked', scopes: [], secret_hashes: [] },
    ]);
    const store = await control.stores.findOne({ store_id: 'gone' });
    expect([store?.access_status, store?.quota]).toEqual(['blocked', undefined]);
    const letters = await accessLetters().find().toArray();
    expect(letters.map(({ key }) => String(key))).toEqual(['gone-not']);
    await api.token('key-of-gone-not', 'secret');
    await api.token('elsewhere', 'secret');
    // Those of the two keys of the neighbour, and of the key elsewhere: none in the audit.
    const secret = hashSecret('secret');
    const withHash = await documentsIn(installation.databases.control, (bytes) =>
      bytes.includes(secret),
    );
    expect(withHash).toHaveLength(3);
  });

  it('is in the audit, including its changes of access', async () => {
    type Change = { action: string; outcome: string };
    const audit = await runJson<Change[]>(service.installation.env, 'audit --store gone');
    const commands = audit.filter(({ outcome }) => outcome === 'done');
    expect(commands.map(({ action }) => action)).toEqual([
      'quota.set',
      'stores.erase',
      'stores.block',
      'keys.revoke',
      'keys.revoke',
    ]);
  });

  it('lets the store begin again with only its later events, also in a rebuild', async () => {
    const { api, installation, setKey } = service;
    await installation.send(changesTopic(environment), [
      orderMessage('new', { storeId: 'gone' }),
      // Publishers set the times of messages, which may lie before the erasure.
      { ...orderMessage('old', { storeId: 'gone' }), timestamp: '1000000000000' },
    ]);
    await caughtUp(installation);
    await setKey({ clientId: 'fresh', storeId: 'gone' });
    await inFirst('stores unblock gone');
    const fresh = await api.token('fresh', 'secret');
    const list = await api.get('/api/order/list', fresh, { 'if-none-match': etag });
    expect(list.json).toMatchObject({ count: 2, results: [{ id: 'new' }, { id: 'old' }] });

    await generationCaughtUp(installation, 1);
    await generationCaughtUp(installation, 2);
    await inFirst('rebuild');
    expect(await documentsOf(environment, (bytes) => bytes.includes(SECRET))).toEqual([]);
    expect((await api.list('/api/order/list', fresh)).count).toBe(2);
    await allIsRight();
  });

  it('replaces the former erasure, whose ends would let messages between the two pass', async () => {
    const eraseAgain = async () => {
      await service.apply([anOrder('t', {}, 'twice')]);
      await erase('twice');
      const { erased } = (await service.control.stores.findOne({ store_id: 'twice' })) ?? {};
      expect(Object.keys(erased ?? {}).toSorted()).toEqual(['at', 'ends', 'sequence']);
      return Math.max(...(erased?.ends ?? []).map(({ end }) => end));
    };
    const first = await eraseAgain();
    expect(await eraseAgain()).toBeGreaterThan(first);
  });

  it('keeps the time of its erasure after a repair of all that stood there', async () => {
    const stamps = stampsIn(await readModels(service.installation));
    const erasedAt = async () => (await stamps.findOne({ _id: 'gone' }))?.erased_at;
    const before = await erasedAt();
    expect(before).toBeInstanceOf(Date);
    await stamps.updateOne({ _id: 'gone' }, [{ $project: { store_id: 1 } }]);
    await inFirst('verify --repair --store gone');
    expect(await erasedAt()).toEqual(before);
  });

  it(
    'completes after a kill, even while the store’s publisher continues',
    { timeout: 240_000 },
    async () => {
      const { installation } = service;
      const publish = (...ids: string[]) =>
        installation.publish(ids.map((id) => orderEvent(id, { storeId: 'busy' })));
      await publish(...times(1_500, String));
      await caughtUp(installation);
      const orders = async () =>
        idsIn(await readModels(installation), 'orders', { store_id: 'busy' });
      const args = `stores erase busy --yes -e ${environment}`;
      const command = startCommand(installation.env, args);
      await eventually('it is at work', async () => (await orders()).length < 1_500);
      command.process.kill('SIGKILL');
      expect((await command.result).code).toBeNull();
      // Events of the store are not applied meanwhile.
      await publish('meanwhile');
      await caughtUp(installation);
      expect(await orders()).not.toContain('busy/meanwhile');
      const over = new AbortController();
      // Otherwise it would continue during a retry of the test.
      onTestFinished(() => over.abort());
      const publishing = (async () => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          await publish(`later${count}`);
          // Generations apply the events during the erasure: faster ones would pile up.
          await setTimeout(25);
        }
      })();
      await erase('busy');
      await eventually('it begins again', async () => (await orders()).length > 0);
      over.abort();
      await publishing;
    },
  );
});
