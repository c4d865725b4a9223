/**
 * A store's erasure covers messages by their offsets, only in the log that was erased, and never by
 * their time (rule R14.8).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { orderMessage } from '#test/events.ts';
import { generationDb } from '#test/generations.ts';
import { eventually, type RawMessage } from '#test/installation.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { caughtUp, idsIn } from '#test/read-models.ts';
import { configureTopic, makeTopicAnew, withAdmin } from '#test/topics.ts';
import { runCommand, runJson } from './run-command.ts';

const DAY_MS = 86_400_000;

let service: QueryService;
beforeEach(async () => {
  service = await startQueryService({ partitions: 1 });
  await allowAnyTime();
});
afterEach(() => service?.close());

/**
 * Brokers before Kafka 3.6 accept any timestamp; later ones by default only those less than an hour
 * ahead.
 */
async function allowAnyTime(): Promise<void> {
  const { kafka, environment } = service.installation;
  const settings = { ...TOPIC_CONFIG, 'message.timestamp.after.max.ms': String(1_000 * DAY_MS) };
  await configureTopic(kafka, changesTopic(environment), settings);
}

const json = <T>(...args: string[]) => runJson<T>(service.installation.env, args);
const order = (id: string, timestamp: number, storeId = 'gone'): RawMessage => ({
  ...orderMessage(id, { storeId }),
  timestamp: String(timestamp),
});
const publish = async (...messages: RawMessage[]) => {
  await service.installation.send(changesTopic(service.installation.environment), messages);
};
const ordersIn = async (generation: number, store_id = 'gone') => {
  const ids = await idsIn(generationDb(service.installation, generation), 'orders', { store_id });
  return ids.map((id) => id.split('/')[1]);
};

describe('an erased store', () => {
  it('is not rebuilt although its publisher’s clock is days ahead, and begins again although it is days behind', async () => {
    const { installation } = service;
    await publish(order('ahead', Date.now() + 3 * DAY_MS), order('now', Date.now()));
    await publish(order('other', Date.now() + 3 * DAY_MS, 'neighbour'));
    await caughtUp(installation);
    await json('stores', 'erase', 'gone', '--yes');
    await json('rebuild');
    expect([await ordersIn(2), await ordersIn(2, 'neighbour')]).toEqual([[], ['other']]);
    await publish(order('behind', Date.now() - 3 * DAY_MS));
    await eventually('it begins again', async () => (await ordersIn(2)).includes('behind'));
    await json('rebuild');
    expect(await ordersIn(3)).toEqual(['behind']);
  });

  it('stays erased in the first generation after MongoDB lost the read models', async () => {
    const { installation } = service;
    await publish(order('old', Date.now()), order('other', Date.now(), 'neighbour'));
    await caughtUp(installation);
    await json('stores', 'erase', 'gone', '--yes');
    await service.stopProjector();
    await generationDb(installation, 1).dropDatabase();
    await installation.databases.control.collection('generations').deleteMany({});
    await service.startProjector();
    await caughtUp(installation);
    expect([await ordersIn(1), await ordersIn(1, 'neighbour')]).toEqual([[], ['other']]);
  });

  it('is applied from a log that replaced the erased one, and the command reports that', async () => {
    const { installation } = service;
    const topic = changesTopic(installation.environment);
    await publish(order('old', Date.now()), order('older', Date.now()));
    await caughtUp(installation);
    await json('stores', 'erase', 'gone', '--yes');
    await service.stopProjector();
    await makeTopicAnew(installation.kafka, topic);
    // At the covered offsets of the former log.
    await publish(
      order('new', Date.now()),
      order('newer', Date.now()),
      order('newest', Date.now()),
    );
    await service.startProjector();
    const { code, stderr } = await runCommand(installation.env, 'rebuild --accept all');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('store gone was erased from another log'),
    ]);
    expect(await ordersIn(2)).toEqual(['new', 'newer', 'newest']);
  });

  it('begins again in a partition that was added later, also in rebuilds', async () => {
    const { installation } = service;
    await publish(order('old', Date.now()));
    await caughtUp(installation);
    await json('stores', 'erase', 'gone', '--yes');
    const topicPartitions = [{ topic: changesTopic(installation.environment), count: 2 }];
    await withAdmin(installation.kafka, (admin) => admin.createPartitions({ topicPartitions }));
    await eventually('the partition is known', () =>
      publish({ ...order('moved', Date.now()), partition: 1 }).then(
        () => true,
        () => false,
      ),
    );
    await eventually('it begins again', async () => (await ordersIn(1)).includes('moved'));
    await json('rebuild');
    expect(await ordersIn(2)).toEqual(['moved']);
  });
});
