import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Binary, type Db, type Document } from 'mongodb';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { createProducer } from '#shared/kafka/client.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { Follower } from '#test/follower.ts';
import { generationCaughtUp, generationDb } from '#test/generations.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { startService } from '#test/service-process.ts';
import { runCommand } from './services/admin/run-command.ts';

type Entity = 'order' | 'customer' | 'review';

interface Event {
  entity: Entity;
  subject: string;
  sequence: number;
  action: 'changed' | 'deleted';
  data?: Record<string, unknown>;
}

const STORE = 's1';
const KINDS: Entity[] = ['order', 'customer', 'review'];
const DATES = ['1999-01-01T00:00:00Z', '2026-03-01T12:00:00Z', '2099-12-31T23:59:59Z'];

/** The same choices in every run. */
let choices = 12_345;
function choose(below: number): number {
  choices = (choices * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((choices / 2 ** 31) * below);
}

describe('followers', () => {
  let service: QueryService;
  let followers: Record<Entity, Follower>;
  let token: string;
  let sequence = 0;
  /** The newest event of every record, as the log has it. */
  const newest = new Map<string, Event>();
  /** Records that were deleted while they were followed. */
  const buried = new Set<string>();

  beforeAll(async () => {
    service = await startQueryService();
    await service.setKey({ clientId: 'follower', storeId: STORE });
    token = await service.api.token('follower', 'secret');
    const start = (kind: Entity) => new Follower(service.api, token, kind);
    followers = { order: start('order'), customer: start('customer'), review: start('review') };
    // Who begins to follow is not told what was deleted before.
    await eventually('all follow', () => Object.values(followers).every(({ answers }) => answers > 0));
  });
  afterAll(async () => {
    await Promise.all(Object.values(followers ?? {}).map((follower) => follower.stop()));
    await service?.close();
  });

  const installation = () => service.installation;

  /** Some adverse changes: made, changed, deleted and made again, dated anyhow, some out of order. */
  function some(count: number): Event[] {
    const events = Array.from({ length: count }, (): Event => {
      sequence += 1;
      const entity = KINDS[choose(6)] ?? 'order';
      const subject = `${entity}-${choose(25)}`;
      const at = DATES[choose(3)];
      if (choose(5) === 0) return { entity, subject, sequence, action: 'deleted' };
      const customer = { id: `customer-${choose(25)}`, name: 'Maria', phone: '11 9' };
      const data = {
        order: {
          display_id: `v${sequence}`,
          status: 'pending',
          order_type: 'delivery',
          total: '1.00',
          customer,
          created_at: at,
          ...(choose(2) === 0 ? {} : { updated_at: at }),
        },
        customer: { name: `v${sequence}`, created_at: at },
        review: {
          rating: 5,
          comment: `v${sequence}`,
          customer_id: customer.id,
          customer_name: 'Maria',
          created_at: at,
        },
      }[entity];
      return { entity, subject, sequence, action: 'changed', data };
    });
    // Late ones: each may come up to two places after its turn.
    for (let index = 2; index < events.length; index += 3) {
      const [one, other] = [events[index - choose(3)], events[index]];
      if (one === undefined || other === undefined) continue;
      events[events.indexOf(one)] = other;
      events[index] = one;
    }
    return events;
  }

  function note(events: readonly Event[]): void {
    for (const event of events) {
      const key = `${event.entity}/${event.subject}`;
      const before = newest.get(key);
      if (before !== undefined && before.sequence >= event.sequence) continue;
      newest.set(key, event);
      if (event.action === 'deleted') buried.add(key);
    }
  }

  /** @param partition of a topic that has more than it began with: a producer that is older does not know them. */
  async function publish(events: readonly Event[], partition?: number): Promise<void> {
    note(events);
    const topic = changesTopic(installation().environment);
    const messages = events.map((event) => encodeEvent({ source: '/test', storeId: STORE, ...event }));
    if (partition === undefined) {
      await installation().send(topic, messages);
      return;
    }
    const placed = messages.map((message) => ({ ...message, partition }));
    // kafkajs sends nothing, and says nothing, to a partition of which the broker has not heard yet.
    await eventually('the partition is known', async () => {
      const producer = createProducer(installation().kafka);
      await producer.connect();
      const sent = await producer.send({ topic, messages: placed });
      await producer.disconnect();
      return sent.length > 0;
    });
  }

  /** Waits until every follower's copy is what the log says, and what the lists show. */
  async function expectRight(): Promise<void> {
    await caughtUp(installation());
    for (const kind of KINDS) {
      const follower = followers[kind];
      const expected = [...newest.values()]
        .filter(({ entity, action }) => entity === kind && action === 'changed')
        .map(({ subject, sequence: version }) => `${subject} v${version}`)
        .toSorted();
      const versionOf = (record: Record<string, unknown>) =>
        String(record['display_id'] ?? record['comment'] ?? record['name']);
      const versions = (records: Iterable<Record<string, unknown>>) =>
        [...records].map((record) => `${String(record['id'])} ${versionOf(record)}`).toSorted();
      const shown = async () => {
        const { results } = await service.api.list(`/api/${kind}/list?page_size=100`, token);
        return new Map(results.map((record) => [String(record['id']), record]));
      };
      // First, so that it is known whether followers or the read models are wrong.
      await expect
        .poll(async () => versions((await shown()).values()), {
          timeout: 120_000,
          message: `${kind} in the list`,
        })
        .toEqual(expected);
      const matches = () => JSON.stringify(versions(follower.copy.values())) === JSON.stringify(expected);
      await eventually(`the copy of ${kind} is right`, matches).catch(() => undefined);
      expect(versions(follower.copy.values()), `${kind} in the copy`).toEqual(expected);
      // A record may be told again a moment later, without a deleted customer's data.
      await expect
        .poll(async () => [...follower.copy].toSorted(byId), { timeout: 120_000 })
        .toEqual([...(await shown())].toSorted(byId));
      const told = [...buried]
        .filter((key) => key.startsWith(`${kind}/`))
        .map((key) => key.slice(kind.length + 1));
      for (const id of told) expect(follower.deleted.has(id) || follower.copy.has(id), id).toBe(true);
    }
  }
  const byId = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

  /** Makes a dead letter of an event, which a retry then applies. */
  async function bury(event: Event): Promise<DeadLetter> {
    const { key, value, headers } = encodeEvent({ source: '/test', storeId: STORE, ...event });
    const message = {
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers,
      timestamp: String(Date.now()),
      attributes: 0,
      offset: String(1_000_000 + event.sequence),
    };
    const topic = changesTopic(installation().environment);
    const rejection = new EventRejected('projection_failed', 'a mistake of an earlier release');
    const letter = toDeadLetter(topic, 0, message, rejection);
    expect(letter.value).toBeInstanceOf(Binary);
    await (await readModels(installation())).collection<DeadLetter>(DEAD_LETTERS).insertOne(letter);
    return letter;
  }
  async function retry({ _id }: DeadLetter): Promise<void> {
    const { code, stderr, stdout } = await runCommand(installation().env, ['dead-letters', 'retry', _id]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/applied 1,/), '']);
  }
  const newOrder = (subject: string): Event => {
    sequence += 1;
    const data = {
      display_id: `v${sequence}`,
      status: 'pending',
      order_type: 'delivery',
      total: '1.00',
      created_at: '2026-03-01T12:00:00Z',
    };
    return { entity: 'order', subject, sequence, action: 'changed', data };
  };

  it('have the log’s last state after changes that come late and are dated anyhow', async () => {
    for (let round = 0; round < 10; round += 1) await publish(some(60));
    await expectRight();
  });

  it('have it after projectors were killed', async () => {
    await service.stopProjector();
    for (let kill = 0; kill < 3; kill += 1) {
      const projector = startService('projector', {
        ...installation().env,
        PROJECTOR_SLICE_EVENTS: '5',
      });
      await publish(some(80));
      await projector.logged(
        ({ msg, topic }) => msg === 'partition is applied' && String(topic).startsWith('store-changes.'),
      );
      projector.kill('SIGKILL');
      await projector.ended;
    }
    await service.startProjector();
    await publish(some(20));
    await expectRight();
  });

  it('are told what a retried dead letter did', async () => {
    const event = newOrder('order-1');
    const letter = await bury(event);
    await retry(letter);
    note([event]);
    await expectRight();
    // So that the log has it, too.
    await publish([newOrder('order-1'), ...some(10)]);
    await expectRight();
  });

  it('have it after a rebuild, a flip and a rollback', async () => {
    const busy = publish(some(50));
    const built = await runCommand(installation().env, ['rebuild']);
    await busy;
    expect([built.code, built.stderr]).toEqual([0, expect.any(String)]);
    await publish(some(50));
    await generationCaughtUp(installation(), 2);
    await expectRight();
    const back = await runCommand(installation().env, ['rollback']);
    expect(back.code, back.stderr).toBe(0);
    await publish(some(50));
    await generationCaughtUp(installation(), 1);
    await expectRight();
  });

  it('have it after the topic was given partitions', async () => {
    const admin = installation().kafka.admin();
    await admin.connect();
    const topic = changesTopic(installation().environment);
    await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
    await admin.disconnect();
    await publish(some(40), 3);
    await publish(some(40));
    await expectRight();
  });

  describe('after MongoDB was restored from a backup', () => {
    /** All documents of a generation, of one moment. */
    async function backUp(db: Db): Promise<Map<string, Document[]>> {
      const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      const content = new Map<string, Document[]>();
      for (const name of names) content.set(name, await db.collection(name).find().toArray());
      return content;
    }

    /** Puts them back, under services at work. */
    async function restore(db: Db, backup: Map<string, Document[]>): Promise<void> {
      await db.client.withSession((session) =>
        session.withTransaction(
          async () => {
            for (const [name, documents] of backup) {
              await db.collection(name).deleteMany({}, { session });
              if (documents.length > 0) await db.collection(name).insertMany(documents, { session });
            }
          },
          { writeConcern: { w: 'majority' } },
        ),
      );
    }

    it('have it, although positions are given again', async () => {
      await publish(some(20));
      await expectRight();
      const db = generationDb(installation(), 1);
      const backup = await backUp(db);
      await publish(some(60));
      await expectRight();
      await restore(db, backup);
      await publish(some(10));
      await expectRight();
    });

    it('have it where only a retried dead letter was rolled back, and nothing noticed the restoring', async () => {
      await publish([newOrder('order-2')]);
      await expectRight();
      const before = newest.get('order/order-2');
      const db = generationDb(installation(), 1);
      const backup = await backUp(db);
      const event = newOrder('order-2');
      const letter = await bury(event);
      await retry(letter);
      note([event]);
      await expectRight();
      await restore(db, backup);
      if (before === undefined) throw new Error('there is no order');
      newest.set('order/order-2', before);
      await publish([newOrder('order-3')]);
      await expectRight();
    });
  });
});
