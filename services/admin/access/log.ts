/**
 * The log of access as a whole: published from what MongoDB knows, after the topic was lost, or applied again from its beginning. Events
 * that lie there already change nothing: they have the same sequences.
 */
import {
  controlCollections,
  type PartitionEnd,
  type StoreAccess,
  type StoreErasure,
  type AccessKey,
} from '#shared/access/access-keys.ts';
import { judgeErasures, lastMessageBefore } from '#shared/access/erased-stores.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import type { Servers } from '../connection/servers.ts';
import { remark } from '../output/print.ts';
import { withTransactionKill } from '../transaction.ts';
import { inBatches } from '#shared/waiting.ts';
import type { Db } from 'mongodb';
import { asFailure, StoreDataError } from '#shared/errors.ts';
import type { AccessEntity } from '#shared/events/access-event.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { keyData } from './subject.ts';

/** An event of an erasure names each partition: of these fewer go together. */
const EVENTS_BATCH = 50;

/**
 * Publishes everything that is known of an environment's keys and stores. Erasures of other logs were judged before.
 * @returns of how many things an event was published.
 */
export async function republishAccess(servers: Servers, environment: string) {
  await numberFormerChanges(servers, environment);
  const published = { keys: 0, stores: 0, quotas: 0, erasures: 0 };
  const events = allEvents(await servers.control(), environment);
  for await (const batch of inBatches(events, EVENTS_BATCH)) {
    await publishAccessEvents(servers, environment, batch);
    for (const { entity } of batch) published[COUNTED_AS[entity]] += 1;
  }
  return published;
}

const COUNTED_AS = {
  access_key: 'keys',
  store_access: 'stores',
  store_quota: 'quotas',
  store_erasure: 'erasures',
} as const;

/** The events of an environment's keys and stores; an erasure comes before what was decided after it. */
async function* allEvents(control: Db, environment: string): AsyncGenerator<AccessEvent> {
  const { keys, stores } = controlCollections(control);
  for await (const store of stores.find({ environment }, { sort: { _id: 1 }, batchSize: EVENTS_BATCH })) {
    yield* [erasureEvent(store), statusEvent(store), quotaEvent(store)].filter((event) => event !== null);
  }
  for await (const key of keys.find({ environment }, { sort: { _id: 1 } })) yield keyEvent(key);
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
  const removed = await withTransactionKill(control, topic, () => checkpoints.deleteMany({ topic }));
  return removed.deletedCount;
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

interface AccessEvent {
  entity: AccessEntity;
  /** A change where it is absent. */
  action?: 'deleted';
  storeId: string;
  subject: string;
  sequence: number;
  /** Absent in a deletion. */
  data?: object;
}

const SOURCE = '/store-data/admin';

/** The event of a key as it is now. */
function keyEvent(key: AccessKey): AccessEvent {
  const { environment: _environment, store_id: storeId, ...data } = keyData(key);
  // A key that only Redis knew as revoked has no sequence of its own.
  const sequence = Math.max(0, key.sequence);
  return { entity: 'access_key', storeId, subject: key._id, sequence, data };
}

/** The event of whether operators blocked a store; `null` where nothing was said. */
function statusEvent({ store_id: id, access_sequence, access_status }: StoreAccess): AccessEvent | null {
  if (access_sequence < 0) return null;
  const about = { entity: 'store_access', storeId: id, subject: id } as const;
  return { ...about, sequence: access_sequence, data: { status: access_status } };
}

/** The event of a store's own quota; `null` where it never had one. */
function quotaEvent({ store_id: id, quota, quota_sequence: sequence }: StoreAccess): AccessEvent | null {
  if (sequence === undefined) return null;
  const about = { entity: 'store_quota', storeId: id, subject: id, sequence } as const;
  return quota === undefined ? { ...about, action: 'deleted' } : { ...about, data: quota };
}

/** How many records are published by one command, besides its own: the next one publishes more. */
const MAX_MARKED = 1_000;

/** Publishes what commands changed in an environment and the log does not have: their own change, and those that were cut off. */
export async function publishMarked(servers: Servers, environment: string): Promise<void> {
  const { keys, stores } = controlCollections(await servers.control());
  const marked = { event_pending: true, environment } as const;
  const newestFirst = { sort: { updated_at: -1 }, limit: MAX_MARKED } as const;
  const [ofKeys, ofStores] = await Promise.all([
    keys.find(marked, newestFirst).toArray(),
    stores.find(marked, newestFirst).toArray(),
  ]);
  const events = [
    ...ofKeys.map(keyEvent),
    ...ofStores.flatMap((store) => [statusEvent(store), quotaEvent(store)].filter((event) => event !== null)),
  ];
  if (events.length > 0) await publishAccessEvents(servers, environment, events);
  const published = { $unset: { event_pending: '' } } as const;
  await Promise.all([
    ...ofKeys.map(({ _id, version }) => keys.updateOne({ _id, version }, published)),
    ...ofStores.map(({ _id, version }) => stores.updateOne({ _id, version }, published)),
  ]);
}

/** Publishes events of one environment, in order. @throws {StoreDataError} `environment_unavailable`. */
async function publishAccessEvents(
  servers: Servers,
  environment: string,
  events: readonly AccessEvent[],
): Promise<void> {
  const topic = accessTopic(environment);
  const producer = await servers.kafkaOf(topic).producer();
  const messages = events.map((event) => encodeEvent({ ...event, source: SOURCE }));
  try {
    await producer.send({ topic, acks: -1, messages });
  } catch (error) {
    const what = events.length === 1 ? 'the event' : `${events.length} events`;
    const { code, message } = asFailure(error);
    throw new StoreDataError(code, `Kafka did not take ${what} on ${topic}: ${message}`, { cause: error });
  }
}
