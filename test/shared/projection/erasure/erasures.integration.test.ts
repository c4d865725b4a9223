/**
 * A deleted customer with more orders and reviews than one transaction erases. From the commit on
 * no answer shows them, while stored data is erased in pieces, between events, kills and other
 * generations.
 */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BSON, type Db } from 'mongodb';
import {
  COLLECTIONS,
  type OrderDocument,
  REWRITINGS,
  stampsIn,
  lettersIn,
} from '#shared/read-models/collections.ts';
import { erasuresIn } from '#shared/read-models/erasures.ts';
import { aCustomer, anOrder, gone } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import type { TestChange } from '#test/query-service.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { runCommand, runJson } from '../../../services/admin/run-command.ts';

const ORDERS = 2_000;
const REVIEWS = 400;
/** More than a slice erases. */
const LETTERS = 120;
const NAME = 'Wanderleia Quixotesca';
const PERSON = { name: NAME, phone: '+55 84 93716-4825', document: '739.164.825-07' };
const SECRETS = [...Object.values(PERSON), 'Wanderleia', 'wanderleia'];

const second = (index: number) => new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString();

/** Every kind of answer with orders or reviews. */
const PATHS = [
  '/api/order/list',
  '/api/order/list?page=12&page_size=100',
  `/api/order/list?page=${Math.ceil((ORDERS + 20) / 100)}&page_size=100`,
  '/api/order/list?status=pending&page_size=7',
  '/api/order/list?status=pending&page=80&page_size=9',
  '/api/order/list?created_from=2026-02-28T21:10:00&created_to=2026-02-28T21:12:00',
  '/api/order/list?created_from=2026-02-28T21:10:00&page=3',
  '/api/order/list?updated_from=2026-02-28T21:10:00&updated_to=2026-02-28T21:12:00',
  '/api/order/list?updated_from=2026-02-28T21:00:00&page=9',
  '/api/order/details/?order_id=o0',
  `/api/order/details/?order_id=o${ORDERS - 1}`,
  '/api/customer/order-list/',
  '/api/customer/order-list/?page=15&page_size=100',
  '/api/customer/order-list/?customer_id=c1',
  '/api/customer/order-list/?customer_id=c1&status=ready&page=40',
  '/api/customer/order-list/?customer_id=c1&updated_from=2026-02-28T21:10:00',
  '/api/review/list',
  '/api/review/list?page=4&page_size=100',
  '/api/review/list?rating=5&page=3',
  '/api/review/list?created_from=2026-02-28T21:01:00&page_size=100',
  '/api/review/details/?review_id=r0',
];

describe('a deleted customer with many orders', () => {
  // At this share a long pause follows each piece: the erasure does not end before the tests allow
  // it.
  const service = useQueryService({ partitions: 1, settings: { PROJECTOR_REWRITING_SHARE: '1' } });
  let installation: Installation;
  let token: string;
  let db: Db;
  /** The cursor of a follower of order changes before the deletion. */
  let cursor: string | null = null;
  beforeAll(async () => {
    ({ installation } = service);
    token = await service.tokenOf({ clientId: 'reader', scopes: ['crm', 'order'] });
    db = await readModels(installation);
  });

  const customer = () => aCustomer('c1', PERSON);
  const order = (id: string, index: number, person: object = { id: 'c1', ...PERSON }) => {
    const times = { created_at: second(index), updated_at: second(index) };
    return anOrder(id, {
      status: index % 2 === 0 ? 'pending' : 'ready',
      customer: person,
      ...times,
    });
  };
  const poison = (id: string) => anOrder(id, { total: 'much', customer: { id: 'c1', ...PERSON } });
  const review = (id: string, index: number): TestChange => {
    const named = { customer_id: 'c1', customer_name: NAME };
    const data = { rating: 1 + (index % 5), ...named, created_at: second(index) };
    return { entity: 'review', storeId: 's1', id, data };
  };
  /** The last change must be valid, since this waits for it. */
  const publish = async (changes: TestChange[]) => {
    await service.apply(changes);
    await caughtUp(installation);
  };
  /** Reads all order changes. @returns the last entry of each order, and the cursor. */
  const follow = async (after: string | null) => {
    const told = new Map<string, string>();
    for (let from = after; ;) {
      const page = await get(
        `/api/order/changes?page_size=100${from === null ? '' : `&after=${from}`}`,
      );
      const { results, next, more } = page.json as {
        results: { id: string }[];
        next: string;
        more: boolean;
      };
      for (const change of results) told.set(change.id, JSON.stringify(change));
      if (!more) return { told, next };
      from = next;
    }
  };
  const holdsAny = (text: string | Buffer) => SECRETS.some((secret) => text.includes(secret));
  /** Retries until 200, since a busy machine may answer 503. */
  const get = async (path: string, headers: Record<string, string> = {}) => {
    for (;;) {
      const answer = await service.api.get(path, token, headers);
      if (answer.status === 503) continue;
      expect(answer.status, path).toBe(200);
      return answer;
    }
  };
  const answers = async () => {
    const found: Record<string, string> = {};
    for (const path of PATHS) {
      found[path] = (await get(path)).text;
    }
    return found;
  };
  /** Collections with documents that contain data of the customer. */
  const stored = async () => {
    const found: string[] = [];
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      for await (const document of db.collection(name).find()) {
        if (!holdsAny(Buffer.from(BSON.serialize(document)))) continue;
        found.push(name);
        break;
      }
    }
    return found.toSorted();
  };
  const erasures = () => erasuresIn(db).find().toArray();
  const stamp = async () => {
    const found = await stampsIn(db).findOne({ _id: 's1' });
    if (found === null) throw new Error('the store has no stamp');
    return found;
  };

  it('is in every kind of answer before the deletion', async () => {
    await publish([
      customer(),
      ...Array.from({ length: 20 }, (_, index) =>
        order(`n${index}`, index * 50, { id: `n${index}`, name: `Vizinho ${index}` }),
      ),
      ...Array.from({ length: ORDERS }, (_, index) => order(`o${index}`, index)),
      ...Array.from({ length: LETTERS }, (_, index) => poison(`poison${index}`)),
      ...Array.from({ length: REVIEWS }, (_, index) => review(`r${index}`, index)),
    ]);
    const before = await answers();
    expect(PATHS.filter((path) => !holdsAny(before[path] ?? ''))).toEqual([]);
    expect(await stored()).toEqual(['customers', 'dead_letters', 'orders', 'reviews']);
  });

  it('is in no answer after the deletion, although still stored', async () => {
    const tags: Record<string, string> = {};
    for (const path of PATHS) tags[path] = (await get(path)).headers.get('etag') ?? '';
    const { position = 0 } = await stamp();
    const before = await follow(null);
    expect([...before.told.values()].filter(holdsAny)).toHaveLength(ORDERS);
    cursor = before.next;
    await publish([gone(customer())]);
    expect(await erasures()).toMatchObject([{ _id: 's1/c1', store_id: 's1', position }]);
    expect(await stamp()).toMatchObject({ erasing: true });
    expect(await stored()).toEqual(['dead_letters', 'orders', 'reviews']);
    const now = await answers();
    expect(PATHS.filter((path) => holdsAny(now[path] ?? ''))).toEqual([]);
    expect(
      now['/api/customer/order-list/?customer_id=c1']?.includes(
        '"customer":{"id":"c1","name":null,"phone":null}',
      ),
    ).toBe(true);
    expect(now['/api/order/details/?order_id=o0']).toContain(
      '"customer":{"id":"c1","name":null,"phone":null,"document":null}',
    );
    expect(PATHS.filter((path) => now[path]?.includes('Vizinho'))).not.toEqual([]);
    expect(now['/api/review/list']?.includes('"customer_name":null')).toBe(true);
    const whole = await follow(null);
    expect([whole.told.size, [...whole.told.values()].filter(holdsAny)]).toEqual([ORDERS + 20, []]);
    for (const path of PATHS) await get(path, { 'if-none-match': tags[path] ?? '' });
  });

  it('is shown by no command meanwhile', async () => {
    const letters = lettersIn(db);
    const id = (await letters.findOne({ erased: { $exists: false } }))?._id ?? '';
    const { stdout } = await runCommand(installation.env, `dead-letters show ${id} --value --json`);
    expect(JSON.parse(stdout)).toMatchObject({ erased: true, key: null, value_base64: null });
    const { dead_letters: listed } = await runJson<{ dead_letters: { erased: boolean }[] }>(
      installation.env,
      'dead-letters list --limit 500',
    );
    expect(listed.map(({ erased }) => erased)).toEqual(Array.from({ length: LETTERS }, () => true));
    const retried = await runCommand(installation.env, `dead-letters retry ${id}`);
    expect(retried.stdout).toContain('still dead 1');
    expect(await letters.findOne({ _id: id })).toMatchObject({ erased: true, value: null });
    const verified = await runCommand(installation.env, 'verify --deep');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);
    expect(await erasures()).toHaveLength(1);
  });

  it('keeps data from after a return, until the next deletion', async () => {
    await publish([order('late', 6_000)]);
    const shown = async (id: string) => (await get(`/api/order/details/?order_id=${id}`)).text;
    expect(holdsAny(await shown('late'))).toBe(false);
    await publish([customer(), poison('poison-back'), order('back', 6_001)]);
    expect(holdsAny(await shown('back'))).toBe(true);
    expect(holdsAny(await shown('late'))).toBe(false);
    expect(holdsAny(await shown('o7'))).toBe(false);
    expect((await erasures()).map(({ _id }) => _id)).toEqual(['s1/c1']);

    // Deleted, restored, with an order, and deleted again in one slice; then restored again.
    await publish([gone(customer()), customer(), order('between', 6_002), gone(customer())]);
    await publish([customer(), order('again', 6_003)]);
    expect(
      await Promise.all(['back', 'between', 'again'].map(async (id) => holdsAny(await shown(id)))),
    ).toEqual([false, false, true]);
    const verified = await runCommand(installation.env, 'verify --deep');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);
  });

  it('is hidden in rebuilt read models, which equal the present ones', async () => {
    const before = await answers();
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
    const after = await answers();
    expect(PATHS.filter((path) => after[path] !== before[path])).toEqual([]);
    const back = await runCommand(installation.env, 'rollback');
    expect(back.stderr + back.stdout + back.code).toMatch(/0$/);
    db = await readModels(installation);
    expect(db.databaseName).toBe(former.databaseName);
  });

  it('is erased in pieces, in the order of changes', async () => {
    const before = await answers();
    const orders = db.collection<OrderDocument>(COLLECTIONS.order);
    const { position: from = 0 } = await stamp();
    const kept = await orders.findOne({ _id: 's1/again' });
    await service.stopProjector();
    const quick = await startSilentProjector(installation, installation.environment, {
      PROJECTOR_REWRITING_SHARE: '100',
    });
    onTestFinished(() => quick.stop());
    await erased(installation, installation.environment, 240_000);
    const after = await answers();
    expect(PATHS.filter((path) => after[path] !== before[path])).toEqual([]);
    const now = await stamp();
    expect(now).not.toHaveProperty('erasing');
    expect(await db.collection(REWRITINGS).countDocuments()).toBe(0);
    expect(await orders.findOne({ _id: 's1/again' })).toEqual(kept);
    const pieces = await orders.find({ store_id: 's1', feed_position: { $gt: from } }).toArray();
    expect(pieces.length).toBeGreaterThan(ORDERS / 2);
    expect(new Set(pieces.map(({ feed_position }) => feed_position)).size).toBe(pieces.length);
    expect(Math.max(...pieces.map(({ feed_position }) => feed_position))).toBe(
      now.positions?.order,
    );
    expect(now.position).toBeGreaterThan(from + ORDERS / 2);

    const { told } = await follow(cursor);
    expect(
      Array.from({ length: ORDERS }, (_, index) => `o${index}`).filter((id) => !told.has(id)),
    ).toEqual([]);
    expect([...told].filter(([, change]) => holdsAny(change)).map(([id]) => id)).toEqual(['again']);

    await publish([gone(customer())]);
    await eventually('nothing is left', async () => (await stored()).length === 0);
    const verified = await runCommand(installation.env, 'verify --deep');
    expect(verified.stdout + verified.stderr).toMatch(/no differences/);
  });
});
