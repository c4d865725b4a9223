/** Publishes to the access topic what MongoDB has of keys and stores. */
import { controlCollections, type AccessKey, type StoreAccess } from '#shared/access/access-keys.ts';
import { asFailure, StoreDataError } from '#shared/errors.ts';
import type { AccessEntity } from '#shared/events/access-event.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic } from '#shared/events/topics.ts';
import type { Servers } from '../connection/servers.ts';
import { keyData } from './subject.ts';

export interface AccessEvent {
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
export function keyEvent(key: AccessKey): AccessEvent {
  const { environment: _environment, store_id: storeId, ...data } = keyData(key);
  // A key that only Redis knew as revoked has no sequence of its own.
  const sequence = Math.max(0, key.sequence);
  return { entity: 'access_key', storeId, subject: key._id, sequence, data };
}

/** The event of whether operators blocked a store; `null` where nothing was said. */
export function statusEvent({
  store_id,
  access_sequence,
  access_status: status,
}: StoreAccess): AccessEvent | null {
  if (access_sequence < 0) return null;
  const about = { entity: 'store_access', storeId: store_id, subject: store_id } as const;
  return { ...about, sequence: access_sequence, data: { status } };
}

/** The event of a store's own quota; `null` where it never had one. */
export function quotaEvent({ store_id, quota, quota_sequence }: StoreAccess): AccessEvent | null {
  if (quota_sequence === undefined) return null;
  const about = {
    entity: 'store_quota',
    storeId: store_id,
    subject: store_id,
    sequence: quota_sequence,
  } as const;
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
export async function publishAccessEvents(
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
