/**
 * The copies of followers of a feed. `examples/follow-orders.integration.test.ts` covers rebuilds
 * and killed processes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { createProducer } from '#shared/kafka/client.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { backUp, restore } from '#test/backup.ts';
import { useQueryService } from '#test/hooks.ts';
import { type Changes, Follower } from '#test/follower.ts';
import { generationDb } from '#test/generations.ts';
import { eventually } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { withAdmin } from '#test/topics.ts';
import { AdversarialStream, type StreamChange } from '../deploy/testing/adversarial-stream.ts';
import { encodeChange, letterOf } from '../deploy/testing/prove-follower.ts';
import { runCommand } from './services/admin/run-command.ts';

type Fields = Record<string, unknown>;

const STORE = 's1';
const KINDS = ['order', 'customer', 'review'] as const;
const ALL = '/api/changes?kinds=order&kinds=customer&kinds=review&records=whole&page_size=7';

describe('followers', () => {
  const service = useQueryService();
  let followers: Follower[];
  let following: Promise<unknown>;
  const over = new AbortController();
  let token: string;
  const stream = new AdversarialStream(STORE, 1, [...KINDS]);
  const { newest } = stream;
  /** Records that were deleted after followers had seen them. */
  const buried = new Set<string>();

  beforeAll(async () => {
    token = await service.tokenOf({ clientId: 'follower', storeId: STORE });
    const feeds = [...KINDS.map((kind) => `/api/${kind}/changes?page_size=7`), ALL];
    followers = feeds.map((feed) => new Follower(service.api, token, feed));
    following = Promise.all(followers.map((follower) => follower.followUntil(over.signal)));
    // A follower gets no deletions from before its first answer.
    await eventually('all follow', () => followers.every(({ answers }) => answers > 0));
  });
  afterAll(async () => {
    over.abort();
    await following;
  });

  const installation = () => service.installation;

  /** @param partition added later, unknown to an existing producer. */
  async function publish(changes: readonly StreamChange[], partition?: number): Promise<void> {
    for (const change of changes) stream.note(change);
    for (const { data, entity, id } of changes)
      if (data === undefined) buried.add(`${entity}/${id}`);
    const topic = changesTopic(installation().environment);
    const messages = changes.map(encodeChange);
    if (partition === undefined) {
      await installation().send(topic, messages);
      return;
    }
    const placed = messages.map((message) => ({ ...message, partition }));
    // kafkajs silently drops messages for a partition that the broker does not know yet.
    await eventually('the partition is known', async () => {
      const producer = createProducer(installation().kafka);
      await producer.connect();
      const sent = await producer.send({ topic, messages: placed });
      await producer.disconnect();
      return sent.length > 0;
    });
  }

  /**
   * Waits until every follower's copy equals the log's state, the lists and a new follower's copy.
   */
  async function expectRight(): Promise<void> {
    await caughtUp(installation());
    const expected = [...newest.values()]
      .filter(({ data }) => data !== undefined)
      .map(({ entity, id, sequence }) => `${entity}/${id} v${sequence}`)
      .toSorted();
    const versions = (records: Iterable<[string, Fields]>) =>
      [...records]
        .map(
          ([name, record]) =>
            `${name} ${String(record['display_id'] ?? record['comment'] ?? record['name'])}`,
        )
        .toSorted();
    // First, to tell wrong read models from wrong followers.
    await expect
      .poll(async () => versions(await lists()), { timeout: 120_000, message: 'the lists' })
      .toEqual(expected);
    const [whole, ...singles] = followers.toReversed();
    if (whole === undefined) throw new Error('there is no follower');
    const copy = () => singles.flatMap((follower) => [...follower.copy]);
    const matches = (records: Iterable<[string, Fields]>) =>
      JSON.stringify(versions(records)) === JSON.stringify(expected);
    await eventually('the copies are right', () => matches(copy()) && matches(whole.copy)).catch(
      () => undefined,
    );
    expect(versions(copy()), 'the copies of each kind').toEqual(expected);
    expect(versions(whole.copy), 'the copy of all kinds').toEqual(expected);
    // A record may be delivered again a moment later, without a deleted customer's data.
    await expect
      .poll(async () => copy().toSorted(byName), { timeout: 120_000 })
      .toEqual((await lists()).toSorted(byName));
    await expect
      .poll(async () => [...whole.copy].toSorted(byName), { timeout: 120_000 })
      .toEqual((await newWalk()).toSorted(byName));
    for (const name of buried) {
      for (const follower of [
        whole,
        singles.find((one) => one.deleted.has(name) || one.copy.has(name)),
      ]) {
        expect(
          follower?.deleted.has(name) === true || follower?.copy.has(name) === true,
          name,
        ).toBe(true);
      }
    }
  }
  const byName = ([a]: [string, Fields], [b]: [string, Fields]) => (a < b ? -1 : 1);

  async function lists(): Promise<[string, Fields][]> {
    const records: [string, Fields][] = [];
    for (const kind of KINDS) {
      for (let page = 1, full = true; full; page += 1) {
        const { results } = await service.api.list(
          `/api/${kind}/list?page_size=100&page=${page}`,
          token,
        );
        records.push(
          ...results.map((record): [string, Fields] => [`${kind}/${String(record['id'])}`, record]),
        );
        full = results.length === 100;
      }
    }
    return records;
  }

  /** The copy of a follower that begins now. */
  async function newWalk(): Promise<[string, Fields][]> {
    const records: [string, Fields][] = [];
    for (let after = '', more = true; more;) {
      const { json } = await service.api.get(ALL + after, token);
      const page = json as Changes;
      records.push(
        ...page.results.map(({ kind, id, record }): [string, Fields] => [
          `${kind}/${id}`,
          record ?? {},
        ]),
      );
      after = `&after=${page.next}`;
      ({ more } = page);
    }
    return records;
  }

  /** Makes a dead letter of a change and retries it. */
  async function bury(change: StreamChange): Promise<DeadLetter> {
    const letter = letterOf(change, installation().environment);
    await (await readModels(installation())).collection<DeadLetter>(DEAD_LETTERS).insertOne(letter);
    return letter;
  }
  async function retry({ _id }: DeadLetter): Promise<void> {
    const { code, stderr, stdout } = await runCommand(installation().env, [
      'dead-letters',
      'retry',
      _id,
    ]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/applied 1,/), '']);
  }
  const newOrder = (id: string) => stream.makeOrder(id, 'a dead letter that was retried');
  it('have the log’s last state after late changes with arbitrary dates', async () => {
    for (let round = 0; round < 10; round += 1) await publish(stream.next(60));
    await expectRight();
  });

  it('get the changes of a retried dead letter', async () => {
    const event = newOrder('order-1');
    const letter = await bury(event);
    await retry(letter);
    stream.note(event);
    await expectRight();
    // The log gets it, too.
    await publish([newOrder('order-1'), ...stream.next(10)]);
    await expectRight();
  });

  it('have the log’s last state after the topic got partitions', async () => {
    const topicPartitions = [{ topic: changesTopic(installation().environment), count: 4 }];
    await withAdmin(installation().kafka, (admin) => admin.createPartitions({ topicPartitions }));
    await publish(stream.next(40), 3);
    await publish(stream.next(40));
    await expectRight();
  });

  it('have the log’s last state after MongoDB was restored from a backup, although positions are reused', async () => {
    await publish(stream.next(20));
    await expectRight();
    const db = generationDb(installation(), 1);
    const backup = await backUp(db);
    await publish(stream.next(60));
    await expectRight();
    await restore(db, backup);
    await publish(stream.next(10));
    await expectRight();
  });
});
