/**
 * The log of keys, blocked stores, quotas and erasures. `access republish` publishes it from
 * MongoDB after the topic was lost; `access replay` has it applied again from its beginning. Events
 * that were applied before change nothing: they have the same sequences.
 */
import type { AuditAction } from '#shared/access/audit.ts';
import { audited, messageOf } from '../audit.ts';
import { type Environment, openServers, type Servers } from '../servers.ts';
import { command, environmentOption } from '../options.ts';
import { printRows, remark } from '../output.ts';
import {
  type AccessRecord,
  collectionOf,
  type ControlCollections,
  isKey,
} from '#shared/access/access-keys.ts';
import { judgeErasures } from '#shared/access/erased-stores.ts';
import {
  accessTopic,
  changesTopic,
  encodeEvent,
  type EventToEncode,
} from '#shared/events/topics.ts';
import { checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import { withTransactionKill } from '../transaction.ts';
import { inBatches } from '#shared/waiting.ts';
import { asFailure, StoreDataError } from '#shared/errors.ts';
import type { AccessEntity } from '#shared/events/access-event.ts';

export const republishCommand = () =>
  command(
    'republish',
    'Publish the keys, blocked stores, quotas and erasures that MongoDB knows to their topic',
  )
    .addOption(environmentOption('only of that environment'))
    .action(async (flags) => {
      const done = await inEach('access.republish', flags, ({ topics }) => topics, republishAccess);
      printRows(done, ['environment', 'keys', 'stores', 'quotas', 'erasures']);
    });

export const replayCommand = () =>
  command('replay', 'Have the log of access applied from its beginning')
    .addOption(environmentOption('only of that environment'))
    .action(async (flags) => {
      const done = await inEach(
        'access.replay',
        flags,
        ({ accessTopic }) => [accessTopic],
        replayAccess,
      );
      printRows(done, ['environment', 'partitions']);
      remark('note: projectors begin within twenty seconds; "store-data lag" shows their progress');
    });

/**
 * Runs the work in each chosen environment, after the check of which erasures belong to another log
 * than the topics hold.
 */
async function inEach<C extends Record<string, number>>(
  action: AuditAction,
  flags: { environment?: string | undefined },
  judgedTopics: (environment: Environment) => readonly string[],
  work: (environment: Environment) => Promise<C>,
): Promise<({ environment: string } & C)[]> {
  await using servers = await openServers();
  const done = [];
  for (const environment of servers.environmentsOf(flags)) {
    const { name } = environment;
    await remarkOtherErasures(environment, judgedTopics(environment));
    const counts = await audited(
      servers,
      { action, environment: name, details: {} },
      () => work(environment),
      (details) => ({ details }),
    );
    done.push({ environment: name, ...counts });
  }
  return done;
}

/** Small, since an erasure's event names each partition. */
const EVENTS_BATCH = 50;

/** @returns how many events were published. */
async function republishAccess(environment: Environment) {
  const { servers, name } = environment;
  const published = { keys: 0, stores: 0, quotas: 0, erasures: 0 };
  for await (const batch of inBatches(allRecords(await servers.access(), name), EVENTS_BATCH)) {
    const events = await publishRecords(servers, name, batch, (record) => [
      ...erasureEvents(record),
      ...eventsOf(record),
    ]);
    for (const { entity } of events) published[COUNTED_AS[entity]] += 1;
  }
  return published;
}

const COUNTED_AS = {
  access_key: 'keys',
  store_access: 'stores',
  store_quota: 'quotas',
  store_erasure: 'erasures',
} as const;

/** Stores come first: an erasure is published before later decisions about keys. */
async function* allRecords(
  { keys, stores }: ControlCollections,
  environment: string,
): AsyncGenerator<AccessRecord> {
  yield* stores.find({ environment }, { sort: { _id: 1 }, batchSize: EVENTS_BATCH });
  yield* keys.find({ environment }, { sort: { _id: 1 } });
}

export async function publishErasure(
  { servers, name: environment }: Environment,
  store_id: string,
): Promise<void> {
  const { stores } = await servers.access();
  const found = await stores.findOne({ environment, store_id });
  if (found !== null) await publishAccessEvents(servers, environment, erasureEvents(found));
}

/** @returns none if the store was not erased, or its erasure has not ended. */
function erasureEvents(record: AccessRecord): AccessEvent[] {
  if (isKey(record) || record.erased?.ends === undefined) return [];
  const { environment, store_id: storeId, erased } = record;
  const topic = changesTopic(environment);
  const ends = record.erased.ends.flatMap(({ topic: name, partition, end, last, other_log }) =>
    name === topic && other_log !== true ? [{ partition, end, last }] : [],
  );
  const data = { erased_at: erased.at.toISOString(), ends };
  const { sequence } = erased;
  return [{ entity: 'store_erasure', storeId, subject: storeId, sequence, data }];
}

/**
 * Removes the checkpoints, so that projectors apply the log from its beginning.
 * @returns how many there were.
 */
async function replayAccess({ servers, accessTopic: topic }: Environment) {
  const control = await servers.control();
  // Fails before anything is removed if Kafka cannot be reached.
  await servers.logBounds(topic);
  const checkpoints = checkpointsIn(control);
  const removed = await withTransactionKill(control, topic, () =>
    checkpoints.deleteMany({ topic }),
  );
  return { partitions: removed.deletedCount };
}

/**
 * Names the stores whose erasure belongs to another log than the present one, before that is
 * applied from its beginning.
 */
export async function remarkOtherErasures(
  { servers, name }: Environment,
  topics: readonly string[],
): Promise<void> {
  const collections = await servers.access();
  const others = new Set<string>();
  for (const topic of topics) {
    const openLog = () => servers.logReader(topic);
    for (const store of await judgeErasures(collections, name, topic, openLog)) others.add(store);
  }
  for (const store of [...others].toSorted()) {
    remark(
      `note: store ${store} was erased from another log: all its events in this one are applied. ` +
        'Erase it again if it must go',
    );
  }
}

type AccessEvent = Omit<EventToEncode, 'source'> & { entity: AccessEntity };

const SOURCE = '/store-data/admin';

/**
 * The events of a record as it is now; of a store its status and its own quota, if either was ever
 * set.
 */
function eventsOf(record: AccessRecord): AccessEvent[] {
  const { store_id: storeId } = record;
  if (isKey(record)) {
    const {
      _id: subject,
      secret_hashes: secret_sha256,
      scopes,
      status,
      secret_expires_at,
    } = record;
    const data = { secret_sha256, scopes, status, secret_expires_at };
    // A key whose revocation was found in Redis alone has no sequence.
    const sequence = Math.max(0, record.sequence);
    return [{ entity: 'access_key', storeId, subject, sequence, data }];
  }
  const { access_status: status, access_sequence, quota, quota_sequence } = record;
  const events: AccessEvent[] = [];
  const about = { storeId, subject: storeId };
  if (access_sequence >= 0) {
    const data = { status };
    events.push({ ...about, entity: 'store_access', sequence: access_sequence, data });
  }
  if (quota_sequence !== undefined) {
    const said = quota === undefined ? { action: 'deleted' as const } : { data: quota };
    events.push({ ...about, entity: 'store_quota', sequence: quota_sequence, ...said });
  }
  return events;
}

/** One command publishes at most so many marked records; the next one publishes more. */
const MAX_MARKED = 1_000;

/**
 * Publishes the changes that the log lacks: the command's own, and those of commands that were
 * killed.
 */
export async function publishMarked(servers: Servers, environment: string): Promise<void> {
  const { keys, stores } = await servers.access();
  const marked = { event_pending: true, environment } as const;
  const newestFirst = { sort: { updated_at: -1 }, limit: MAX_MARKED } as const;
  const records = [
    ...(await keys.find(marked, newestFirst).toArray()),
    ...(await stores.find(marked, newestFirst).toArray()),
  ];
  for await (const batch of inBatches<AccessRecord>(records, EVENTS_BATCH)) {
    await publishRecords(servers, environment, batch, eventsOf);
  }
}

/**
 * Publishes what commands left marked in other environments. A failure there is a remark: the
 * command's own change is live.
 */
export async function publishMarkedElsewhere(servers: Servers, except: string): Promise<void> {
  for (const name of servers.config.environments.filter((environment) => environment !== except)) {
    await publishMarked(servers, name).catch((error: unknown) => {
      remark(`note: changes of access in ${name} are not in its log yet: ${messageOf(error)}`);
    });
  }
}

/**
 * Publishes events of records, and removes the marks of those that no later change has written
 * meanwhile.
 */
async function publishRecords(
  servers: Servers,
  environment: string,
  records: readonly AccessRecord[],
  eventsFor: (record: AccessRecord) => AccessEvent[],
): Promise<AccessEvent[]> {
  const collections = await servers.access();
  const events = records.flatMap(eventsFor);
  await publishAccessEvents(servers, environment, events);
  const marked = records.filter((record) => record.event_pending === true);
  await Promise.all(
    marked.map((record) =>
      collectionOf(collections, record).updateOne(
        { _id: record._id, version: record.version },
        { $unset: { event_pending: '' } },
      ),
    ),
  );
  return events;
}

async function publishAccessEvents(
  servers: Servers,
  environment: string,
  events: readonly AccessEvent[],
) {
  if (events.length === 0) return;
  const topic = accessTopic(environment);
  const producer = await servers.kafka.producer();
  const messages = events.map((event) => encodeEvent({ ...event, source: SOURCE }));
  try {
    await producer.send({ topic, acks: -1, messages });
  } catch (error) {
    const what = events.length === 1 ? 'the event' : `${events.length} events`;
    const { code, message } = asFailure(error);
    throw new StoreDataError(code, `Kafka did not accept ${what} on ${topic}: ${message}`, {
      cause: error,
    });
  }
}
