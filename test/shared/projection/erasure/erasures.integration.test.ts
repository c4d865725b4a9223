/**
 * A deleted customer with more orders and reviews than one transaction erases: what the model test,
 * which asks every list and record meanwhile, does not see. Feeds, entity tags, commands and rebuilt
 * read models show nothing from the commit on, while stored data is erased in pieces.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BSON, type Db } from 'mongodb';
import { COLLECTIONS, type OrderDocument, lettersIn } from '#shared/read-models/collections.ts';
import { erasuresIn } from '#shared/read-models/erasures.ts';
import { aCustomer, anOrder, gone, MINIMAL } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import type { Changes } from '#test/follower.ts';
import { type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import type { TestChange } from '#test/events.ts';
import { erased, readModels, stampOf } from '#test/read-models.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { runCommand, runJson } from '../../../services/admin/run-command.ts';

/** More of each than a slice erases. */
const AT_ONCE = 10;
const ORDERS = 150;
const REVIEWS = 40;
const LETTERS = 12;
const NAME = 'Wanderleia Quixotesca';
const PERSON = { name: NAME, phone: '+55 84 93716-4825', document: '739.164.825-07' };
const SECRETS = [...Object.values(PERSON), 'wanderleia'];
/** Answers that depend on orders or reviews. */
const PATHS = ['/api/order/list', '/api/customer/order-list/?customer_id=c1', '/api/review/list'];

const holdsAny = (text: string | Buffer) => SECRETS.some((secret) => text.includes(secret));
const customer = () => aCustomer('c1', PERSON);
const order = (id: string) => anOrder(id, { customer: { id: 'c1', ...PERSON } });
const poison = (id: string) => anOrder(id, { total: 'much', customer: { id: 'c1', ...PERSON } });
const review = (index: number): TestChange => ({
  entity: 'review',
  storeId: 's1',
  id: `r${index}`,
  data: { ...MINIMAL.review, customer_id: 'c1', customer_name: NAME },
});

describe('a deleted customer with many orders', () => {
  const restores = [withSmallErasures(AT_ONCE), withSmallTrees(8, 3)];
  afterAll(() => restores.forEach((restore) => restore()));
  // At this share a long pause follows each piece: the erasure does not end before the tests allow
  // it.
  const service = useQueryService({ partitions: 1, settings: { PROJECTOR_REWRITING_SHARE: '1' } });
  let installation: Installation;
  let db: Db;
  /** The cursor of a follower of order changes before the deletion. */
  let cursor: string;

  beforeAll(async () => {
    ({ installation } = service);
    db = await readModels(installation);
  });

  /** Retries until 200, since a busy machine may answer 503. */
  const get = async (path: string, headers: Record<string, string> = {}) => {
    for (;;) {
      const answer = await service.get(path, 's1', headers);
      if (answer.status === 503) continue;
      expect(answer.status, path).toBe(200);
      return answer;
    }
  };
  const shows = async (id: string) =>
    holdsAny((await get(`/api/order/details/?order_id=${id}`)).text);
  /** Reads all order changes. @returns the last entry of each order, and where to continue. */
  const follow = async (after = '') => {
    const told = new Map<string, string>();
    for (let from = after; ;) {
      const page = await get(`/api/order/changes?page_size=1000${from}`);
      const { results, next, more } = page.json as Changes;
      for (const change of results) told.set(change.id, JSON.stringify(change));
      from = `&after=${next}`;
      if (!more) return { told, from };
    }
  };
  /** Collections with documents that contain data of the customer. */
  const stored = async () => {
    const found: string[] = [];
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      const documents = await db.collection(name).find().toArray();
      if (documents.some((one) => holdsAny(Buffer.from(BSON.serialize(one))))) found.push(name);
    }
    return found.toSorted();
  };
  const erasures = () => erasuresIn(db).find().toArray();
  const expectVerified = async () => {
    const { stdout, stderr } = await runCommand(installation.env, 'verify --deep');
    expect(stdout + stderr).toMatch(/no differences/);
  };

  it('is in no change and under no former entity tag after the deletion, although still stored', async () => {
    await service.apply([
      customer(),
      ...times(ORDERS, (index) => order(`o${index}`)),
      ...times(LETTERS, (index) => poison(`poison${index}`)),
      ...times(REVIEWS, review),
    ]);
    const tags: Record<string, string> = {};
    for (const path of PATHS) {
      const { headers, text } = await get(path);
      expect(holdsAny(text), path).toBe(true);
      tags[path] = headers.get('etag') ?? '';
    }
    expect(await stored()).toEqual(
      expect.arrayContaining(['customers', 'dead_letters', 'orders', 'reviews']),
    );
    const { position = 0 } = await stampOf(db);
    const before = await follow();
    expect([...before.told.values()].filter(holdsAny)).toHaveLength(ORDERS);
    cursor = before.from;

    await service.apply([gone(customer())]);
    expect(await erasures()).toMatchObject([{ _id: 's1/c1', store_id: 's1', position }]);
    expect(await stampOf(db)).toMatchObject({ erasing: true });
    expect(await stored()).toEqual(['dead_letters', 'orders', 'reviews']);
    for (const path of PATHS) {
      const { text } = await get(path, { 'if-none-match': tags[path] ?? '' });
      expect(holdsAny(text), path).toBe(false);
    }
    const { told } = await follow();
    expect([told.size, [...told.values()].filter(holdsAny)]).toEqual([ORDERS, []]);
  });

  it('is shown by no command meanwhile', async () => {
    const letters = lettersIn(db);
    const id = (await letters.findOne({ erased: { $exists: false } }))?._id ?? '';
    const shown = await runJson(installation.env, `dead-letters show ${id}`);
    expect(shown).toMatchObject({ erased: true, key: null });
    expect((await runCommand(installation.env, `dead-letters show ${id} --raw`)).stdout).toBe('');
    const { dead_letters: listed } = await runJson<{ dead_letters: { erased: boolean }[] }>(
      installation.env,
      'dead-letters list --limit 500',
    );
    expect(listed.map(({ erased }) => erased)).toEqual(times(LETTERS, () => true));
    const retried = await runCommand(installation.env, `dead-letters retry ${id}`);
    expect(retried.stdout).toContain('still dead 1');
    expect(await letters.findOne({ _id: id })).toMatchObject({ erased: true, value: null });
    await expectVerified();
    expect(await erasures()).toHaveLength(1);
  });

  it('keeps data from after a return, until the next deletion', async () => {
    // Its id is behind those of all others: no slice erases it at once.
    await service.apply([customer(), order('returned')]);
    expect(await shows('returned')).toBe(true);
    await service.apply([gone(customer()), customer(), order('again')]);
    expect([await shows('returned'), await shows('again')]).toEqual([false, true]);
    expect((await erasures()).map(({ _id }) => _id)).toEqual(['s1/c1']);
    await expectVerified();
  });

  it('is hidden in rebuilt read models, which equal the present ones', async () => {
    const rebuilt = await runCommand(installation.env, 'rebuild --share 100');
    expect(rebuilt.stdout + rebuilt.stderr).toMatch(/no difference/);
    expect(rebuilt.code).toBe(0);
    const former = db;
    db = await readModels(installation);
    expect(db.databaseName).not.toBe(former.databaseName);
    expect(await erasures()).toHaveLength(1);
    expect(await erasuresIn(former).countDocuments()).toBe(1);
    await eventually('the query service has followed', async () => {
      const { told } = await follow(cursor);
      return told.size > ORDERS;
    });
    expect(await Promise.all(['o7', 'returned', 'again'].map(shows))).toEqual([false, false, true]);
    expect((await runCommand(installation.env, 'rollback')).code).toBe(0);
    db = await readModels(installation);
    expect(db.databaseName).toBe(former.databaseName);
  });

  it('is erased in pieces, which followers get as changes', async () => {
    const orders = db.collection<OrderDocument>(COLLECTIONS.order);
    const kept = await orders.findOne({ _id: 's1/again' });
    await service.stopProjector();
    const quick = await startSilentProjector(installation, installation.environment, {
      PROJECTOR_REWRITING_SHARE: '100',
    });
    onTestFinished(() => quick.stop());
    await erased(installation);
    expect(await stampOf(db)).not.toHaveProperty('erasing');
    expect(await orders.findOne({ _id: 's1/again' })).toEqual(kept);
    await expectVerified();
    const { told } = await follow(cursor);
    expect(times(ORDERS, (at) => `o${at}`).filter((id) => !told.has(id))).toEqual([]);
    expect([...told].filter(([, change]) => holdsAny(change)).map(([id]) => id)).toEqual(['again']);

    await service.apply([gone(customer())]);
    await eventually('nothing is left', async () => (await stored()).length === 0);
    await expectVerified();
  });
});
