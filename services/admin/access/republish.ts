/**
 * The log of access as a whole: published from what MongoDB knows, after the topic was lost, or applied again from its beginning. Events
 * that lie there already change nothing: they have the same sequences.
 */
import {
  controlCollections,
  type PartitionEnd,
  type StoreAccess,
  type StoreErasure,
} from '#shared/access/access-keys.ts';
import { judgeErasures, lastMessageBefore } from '#shared/access/erased-stores.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import type { Servers } from '../connection/servers.ts';
import { remark } from '../output/print.ts';
import { pastHangingTransactions } from './change.ts';
import { type AccessEvent, keyEvent, publishAccessEvents, quotaEvent, statusEvent } from './publish-event.ts';

/** Of what so many events were published. */
export interface Republished {
  keys: number;
  stores: number;
  quotas: number;
  erasures: number;
}

/** An event of an erasure names each partition: of these fewer go together. */
const EVENTS_TOGETHER = 50;

/** Publishes everything that is known of an environment's keys and stores. Erasures of other logs were judged before. */
export async function republishAccess(servers: Servers, environment: string): Promise<Republished> {
  const control = await servers.control();
  const { keys, stores } = controlCollections(control);
  await numberFormerChanges(servers, environment);
  const published: Republished = { keys: 0, stores: 0, quotas: 0, erasures: 0 };
  const sender = new Sender(servers, environment);
  // An erasure comes before what was decided after it.
  for await (const store of stores.find({ environment }, { sort: { _id: 1 }, batchSize: EVENTS_TOGETHER })) {
    const erasure = erasureEvent(store);
    if (erasure !== null) published.erasures += await sender.add(erasure);
    const status = statusEvent(store);
    if (status !== null) published.stores += await sender.add(status);
    const quota = quotaEvent(store);
    if (quota !== null) published.quotas += await sender.add(quota);
  }
  for await (const key of keys.find({ environment }, { sort: { _id: 1 } })) {
    published.keys += await sender.add(keyEvent(key));
  }
  await sender.finish();
  return published;
}

/** Publishes a store's last erasure. */
export async function publishErasure(
  servers: Servers,
  { environment, store_id }: { environment: string; store_id: string },
): Promise<void> {
  const { stores } = controlCollections(await servers.control());
  const store = await stores.findOne({ environment, store_id });
  const event = store === null ? null : erasureEvent(store);
  if (event !== null) await publishAccessEvents(servers, environment, [event]);
}

/** @returns `null` where the store was not erased, or the command that erases it has not ended. */
function erasureEvent({ environment, store_id, erased }: StoreAccess): AccessEvent | null {
  if (erased?.ends === undefined) return null;
  const topic = changesTopic(environment);
  const ends = erased.ends.flatMap(({ topic: name, partition, end, last, other_log }) =>
    name === topic && last !== undefined && other_log !== true ? [{ partition, end, last }] : [],
  );
  return {
    entity: 'store_erasure',
    storeId: store_id,
    subject: store_id,
    sequence: erased.sequence ?? 0,
    data: { erased_at: erased.at.toISOString(), ends },
  };
}

/**
 * What earlier releases wrote has no number of its own, and their erasures have no message by which the log is known again: both get
 * theirs. Their own rule tells whether the log is the one that was erased.
 */
async function numberFormerChanges(servers: Servers, environment: string): Promise<void> {
  const { stores } = controlCollections(await servers.control());
  const unnumbered = { environment, quota: { $exists: true }, quota_sequence: { $exists: false } };
  await stores.updateMany(unnumbered, { $set: { quota_sequence: 1 } });
  const former = { environment, 'erased.ends': { $exists: true }, 'erased.sequence': { $exists: false } };
  const found = await stores.find(former).toArray();
  if (found.length === 0) return;
  const topic = changesTopic(environment);
  const log = await LogReader.open(servers, topic);
  try {
    for (const { _id, erased } of found) {
      if (erased === undefined) continue;
      const ends = await endsWithMessages(log, topic, erased);
      await stores.updateOne(
        { _id, 'erased.sequence': { $exists: false } },
        { $set: { 'erased.ends': ends, 'erased.sequence': 1 } },
      );
    }
  } finally {
    await log.close();
  }
}

const DAY_MS = 86_400_000;

async function endsWithMessages(
  log: LogReader,
  topic: string,
  { at, ends = [] }: StoreErasure,
): Promise<PartitionEnd[]> {
  const bounds = await log.bounds();
  const mended: PartitionEnd[] = [];
  for (const one of ends) {
    const end = one.until ?? one.end;
    const isThere = one.topic === topic && end <= (bounds.get(one.partition)?.end ?? -1);
    const last = isThere ? await lastMessageBefore(log, one.partition, end) : null;
    const isSameLog = last !== null && last.timestamp < at.getTime() + DAY_MS;
    mended.push(isSameLog ? { ...one, end, until: end, last } : one);
  }
  return mended;
}

class Sender {
  readonly #servers: Servers;
  readonly #environment: string;
  #gathered: AccessEvent[] = [];

  constructor(servers: Servers, environment: string) {
    this.#servers = servers;
    this.#environment = environment;
  }

  async add(event: AccessEvent): Promise<number> {
    this.#gathered.push(event);
    if (this.#gathered.length === EVENTS_TOGETHER) await this.finish();
    return 1;
  }

  async finish(): Promise<void> {
    const events = this.#gathered.splice(0);
    if (events.length > 0) await publishAccessEvents(this.#servers, this.#environment, events);
  }
}

/**
 * Has the log of access applied from its beginning: its checkpoints go, and the projectors that have its partitions find that out.
 * @returns how many partitions had been applied before.
 */
export async function replayAccess(servers: Servers, environment: string): Promise<number> {
  const control = await servers.control();
  const topic = accessTopic(environment);
  // Nothing is removed while Kafka cannot be reached: what would be applied then?
  const admin = await servers.kafkaOf(topic).admin();
  await admin.fetchTopicOffsets(topic);
  const checkpoints = control.collection<Checkpoint>(CHECKPOINTS);
  const { deletedCount } = await pastHangingTransactions(control, topic, () =>
    checkpoints.deleteMany({ topic }),
  );
  return deletedCount;
}

/** Finds the erasures that mean another log than the present one, before that is applied from its beginning, and tells the operator. */
export async function remarkOtherErasures(
  servers: Servers,
  environment: string,
  topics: readonly string[],
): Promise<void> {
  const collections = controlCollections(await servers.control());
  const others = new Set<string>();
  for (const topic of topics) {
    const open = () => LogReader.open(servers, topic);
    for (const store of await judgeErasures(collections, environment, topic, open)) others.add(store);
  }
  for (const store of [...others].toSorted()) {
    remark(
      `note: store ${store} was erased from another log than this one; all that this one holds of it is applied. Erase it again if it must go`,
    );
  }
}
