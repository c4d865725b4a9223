/**
 * Compares what is served with the log itself: what the log says up to the checkpoints is replayed into a database of its own,
 * and every record is compared with it, in a snapshot in which the checkpoints stand there. What the projector applies meanwhile
 * is not in the snapshot.
 */
import type { Db } from 'mongodb';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import type { Difference } from '#shared/projection/verify/store.ts';
import {
  CATEGORY_PRODUCTS,
  type Stamp,
  STAMPS,
  type Tombstone,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { withoutCustomer } from '#shared/read-models/erasures.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Servers } from '../connection/servers.ts';
import {
  type Content,
  type Contents,
  differingFields,
  kindOf,
  rangesOf,
  readContents,
  scanRange,
  type Side,
  hasAnything,
  storesIn,
} from '../comparison.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import { sumOf } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { deadLetterPlaces, PrivateDatabase, Replay } from './replay.ts';

/** More are counted and not listed: a lost collection would fill the memory. */
const MAX_LISTED = 10_000;
/** `SnapshotTooOld`, `SnapshotUnavailable`. */
const SNAPSHOT_GONE = new Set([239, 246]);

interface ComparedWithLog {
  /** The first of them. They never hold a value of a record, only names of fields and ids. */
  listed: Difference[];
  differences: number;
  records: number;
  messages: number;
}

interface CompareOptions {
  /** The one store; `null` for all. */
  only: string | null;
  /** Called with the progress. */
  say: (text: string) => void;
  /** Ends it with an error. */
  stopping: AbortSignal;
}

/**
 * Compares an environment's read models, beside services at work.
 * @throws {StoreDataError} `history_lost` when the topic does not reach back to its beginning.
 */
export async function compareWithLog(
  servers: Servers,
  environment: string,
  live: Db,
  { only, say, stopping }: CompareOptions,
): Promise<ComparedWithLog> {
  const topic = changesTopic(environment);
  const { client } = live;
  const control = await servers.control();
  // Before anything is read: what comes later may be of events that are not read.
  const present = only === null ? await storesIn(live) : new Set([only]);
  const own = await PrivateDatabase.make(client, `${servers.config.namePrefix}_${environment}_v`);
  const { db } = own;
  let reader: LogReader | null = null;
  const result: ComparedWithLog = { listed: [], differences: 0, records: 0, messages: 0 };
  try {
    reader = await LogReader.open(servers, topic);
    const early = await readPositions(live, topic);
    const progress = (read: number) => {
      if (stopping.aborted) throw commandInvalid('interrupted');
      say(`${topic}: applied ${read} of ${sumOf(early)} messages`);
    };
    const findErased = findErasedIn(control, environment);
    const replay = new Replay({ db, control, reader, findErased, topic, only, progress });
    // Most of it before the snapshot: MongoDB keeps none for longer than some minutes.
    await replay.apply(new Map(), early, await deadLetterPlaces(live, topic));
    await client.withSession({ snapshot: true }, async (session) => {
      const actual: Side = { db: forSnapshots(live), session };
      const to = await readPositions(actual.db, topic, { session });
      const letters = await deadLetterPlaces(actual.db, topic, session);
      await replay.apply(early, to, letters);
      await replay.applyRetried(letters);
      result.messages = sumOf(to);
      await client.withSession(async (expected) => {
        const comparing: Comparing = {
          expected: { db, session: expected },
          actual,
          spread: replay.spread,
          result,
        };
        const known = new Set<string>(await db.collection<Stamp>(STAMPS).distinct('_id'));
        for (const storeId of known) {
          if (stopping.aborted) throw commandInvalid('interrupted');
          say(`${topic}: compares the records of ${storeId}`);
          await compareStore(comparing, storeId);
        }
        for (const storeId of present) {
          if (known.has(storeId) || !(await hasAnything(live, storeId))) continue;
          add(result, { storeId, what: 'the store', stored: 'records', counted: 'no event' });
        }
      });
    });
    await own.requireKept();
    return result;
  } catch (error) {
    throw isSnapshotGone(error) ? snapshotGone(error) : error;
  } finally {
    await own.drop();
    await reader?.close();
  }
}

interface Comparing {
  /** What the log says. */
  expected: Side;
  actual: Side;
  spread: ReadonlySet<string>;
  result: ComparedWithLog;
}

async function compareStore(comparing: Comparing, storeId: string): Promise<void> {
  const { expected, actual, spread, result } = comparing;
  const stamp = await expected.db
    .collection<Stamp>(STAMPS)
    .findOne({ _id: storeId }, { session: expected.session });
  const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
  for (const range of rangesOf(storeId)) {
    // Counts are compared with the records themselves.
    if (range.collection === CATEGORY_PRODUCTS) continue;
    const isTombstone = range.collection === TOMBSTONES;
    const stride = isTombstone ? Infinity : 1;
    const scanned = await scanRange(expected, actual, range, { stride, offset });
    if (!isTombstone) result.records += scanned.expected;
    const differing = scanned.differing.map((id) => ({ id, offset }));
    for await (const { record, ...contents } of readContents(expected, actual, range.collection, differing)) {
      if (spread.has(storeId) && isErasureApart(contents)) continue;
      const what = `${range.entity} ${record.id.slice(range.prefix.length)}`;
      const words = isTombstone
        ? ofTombstone(contents)
        : await ofRecord(comparing, range.entity, record.id, contents);
      add(result, { storeId, what, ...words });
    }
  }
}

type Words = Pick<Difference, 'stored' | 'counted'>;

async function ofRecord(
  { expected }: Comparing,
  entity: EntityName,
  id: string,
  contents: Contents,
): Promise<Words> {
  const { one, other } = contents;
  const version = (content: Content) => `version ${content.get('sequence')}`;
  const kind = kindOf(contents);
  if (kind === 'missing') return { stored: 'missing', counted: version(one) };
  if (kind === 'version') return { stored: version(other), counted: version(one) };
  if (kind === 'content') {
    const fields = new Set(differingFields(one, other).map((field) => field.split('.')[0]));
    return { stored: `other ${[...fields].join(', ')}`, counted: `${version(one)} as projected` };
  }
  const tombstone = await expected.db
    .collection<Tombstone>(TOMBSTONES)
    .findOne({ _id: `${entity}/${id}` }, { session: expected.session });
  const counted = tombstone === null ? 'no event' : `deleted in version ${tombstone.sequence}`;
  return { stored: 'a document', counted };
}

function ofTombstone({ one, other }: Contents): Words {
  const deleted = (content: Content) => `deleted in version ${content.get('sequence')}`;
  return {
    stored: other.size === 0 ? 'no tombstone' : deleted(other),
    counted: one.size === 0 ? 'not deleted' : deleted(one),
  };
}

/** Whether two differ in nothing but that one of them shows nothing of its customer. */
function isErasureApart({ one, other }: Contents): boolean {
  const erased = (content: Content) =>
    new Map(
      [...content].map(([name, text]) => [
        name,
        name === 'summary' || name === 'whole' ? withoutCustomer(text) : text,
      ]),
    );
  try {
    return one.has('customer_id') && differingFields(erased(one), erased(other)).length === 0;
  } catch {
    // A damaged body.
    return false;
  }
}

function add(result: ComparedWithLog, difference: Difference): void {
  result.differences += 1;
  if (result.listed.length < MAX_LISTED) result.listed.push(difference);
}

function isSnapshotGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SNAPSHOT_GONE.has(Number(error.code));
}

function snapshotGone(cause: unknown): StoreDataError {
  return new StoreDataError(
    'environment_unavailable',
    'MongoDB gave up the snapshot that was compared: verify store by store (--store), or raise its parameter minSnapshotHistoryWindowInSeconds',
    { cause },
  );
}
