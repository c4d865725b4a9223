/**
 * Erased stores. Kafka keeps their events, and everything that applies a log skips those from
 * before the erasure (rule R14.8).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogMessage } from '../kafka/message.ts';
import type { Db } from 'mongodb';
import {
  controlCollections,
  type ControlCollections,
  type PartitionEnd,
  storeAccessId,
  type StoreErasure,
} from './access-keys.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { identityOf, isSameMessage, type LastMessage } from '../projection/slice/checkpoint.ts';

/**
 * The ends of an erasure must be noted within this time after they began to be read; else they are
 * read again.
 */
export const MAX_CLOSING_MS = 1_000;
/**
 * How long other processes wait for these ends: longer than the command may take, by the same
 * clock.
 */
const MAX_WAIT_FOR_ENDS_MS = 2 * MAX_CLOSING_MS;
const POLL_MS = 10;

export type FindErased = (storeIds: Iterable<string>) => Promise<ReturnType<typeof erasedStores>>;

export function findErasedIn(control: Db, environment: string): FindErased {
  return async (storeIds) => {
    const ids = [...new Set(storeIds)].map((storeId) => storeAccessId(environment, storeId));
    return erasedStores(ids.length === 0 ? [] : await findEnded(control, ids));
  };
}

function erasedStores(found: readonly Found[]) {
  const erasures = new Map(found.map(({ store_id, erased }) => [store_id, erased]));
  return {
    /** When each store was erased. */
    times: new Map(found.map(({ store_id, erased }) => [store_id, erased.at])),
    /** Whether a message of a store is from before the end of its erasure. */
    skips(
      storeId: string,
      { topic, partition }: Pick<PartitionEnd, 'topic' | 'partition'>,
      { offset }: Pick<LogMessage, 'offset'>,
    ) {
      const erasure = erasures.get(storeId);
      if (erasure === undefined) return false;
      const { ends } = erasure;
      if (ends === undefined) return true;
      const end = ends.find((one) => one.topic === topic && one.partition === partition);
      if (end === undefined || end.other_log === true) return false;
      return Number(offset) < end.end;
    },
  };
}

/**
 * Waits while ends are being read. If the command was killed then, the store counts as being erased
 * until the command runs again.
 */
async function findEnded(control: Db, ids: readonly string[]): Promise<Found[]> {
  for (;;) {
    const found = await controlCollections(control)
      .stores.find({ _id: { $in: [...ids] }, erased: { $exists: true } }, { batchSize: 10_000 })
      .project<Found>({
        store_id: 1,
        erased: 1,
        closing_for: { $subtract: ['$$NOW', '$erased.closing_at'] },
      })
      .toArray();
    if (!found.some(({ closing_for: ms }) => ms !== null && ms < MAX_WAIT_FOR_ENDS_MS))
      return found;
    await sleep(POLL_MS);
  }
}

interface Found {
  store_id: string;
  erased: StoreErasure;
  /**
   * For how many milliseconds the ends are being read, by the clock of MongoDB; `null` while they
   * are not.
   */
  closing_for: number | null;
}

/**
 * How many offsets are read back first to find the last message before an end; each further attempt
 * doubles them.
 */
const READ_BACK = 16;

/**
 * Marks the ends of erased stores that belong to another log than the topic holds now, and unmarks those whose log is back.
 * @param openLog called only if a store was erased. @returns the stores with an end that does not count.
 */
export async function judgeErasures(
  { stores }: Pick<ControlCollections, 'stores'>,
  environment: string,
  topic: string,
  openLog: () => Promise<LogReader>,
): Promise<string[]> {
  const filter = { environment, 'erased.ends.topic': topic };
  const erased = await stores.find(filter, { sort: { _id: 1 } }).toArray();
  if (erased.length === 0) return [];
  const others = new Set<string>();
  const log = await openLog();
  for (const { _id, store_id, erased: { ends = [], sequence } = {} } of erased) {
    for (const { topic: of, partition, last, other_log } of ends) {
      if (of !== topic) continue;
      const message = await messageAt(log, partition, last.offset);
      const isOther = message === null || !isSameMessage(last, message);
      if (isOther) others.add(store_id);
      if ((other_log === true) === isOther) continue;
      const field = 'erased.ends.$[end].other_log';
      await stores.updateOne(
        { _id, 'erased.sequence': sequence },
        isOther ? { $set: { [field]: true } } : { $unset: { [field]: '' } },
        { arrayFilters: [{ 'end.topic': topic, 'end.partition': partition }] },
      );
    }
  }
  return [...others];
}

/**
 * Of each end whether the log reaches it, and holds the message that identifies the log (rule
 * R14.8).
 */
export async function judgeEnds(
  log: LogReader,
  ends: readonly Pick<PartitionEnd, 'partition' | 'end' | 'last'>[],
): Promise<boolean[]> {
  const judged: boolean[] = [];
  for (const { partition, end, last } of ends) {
    const isReached = end <= ((await log.bounds()).get(partition)?.end ?? 0);
    const message = isReached ? await messageAt(log, partition, last.offset) : null;
    judged.push(message !== null && isSameMessage(last, message));
  }
  return judged;
}

async function messageAt(
  log: LogReader,
  partition: number,
  offset: number,
): Promise<LogMessage | null> {
  const { start = 0, end = 0 } = (await log.bounds()).get(partition) ?? {};
  if (offset < start || offset >= end) return null;
  let found: LogMessage | null = null;
  await log.read({ partition, from: offset, to: offset + 1 }, (messages) => {
    found ??= messages.find((one) => Number(one.offset) === offset && isReadable(one)) ?? null;
  });
  return found;
}

export async function lastMessageBefore(
  log: LogReader,
  partition: number,
  end: number,
): Promise<LastMessage | null> {
  const { start = 0 } = (await log.bounds()).get(partition) ?? {};
  for (let back = READ_BACK; ; back *= 2) {
    const from = Math.max(start, end - back);
    const found: LogMessage[] = [];
    await log.read({ partition, from, to: end }, (messages) => {
      found.push(
        ...messages.filter((one) => Number(one.offset) < end && isReadable(one)).slice(-1),
      );
    });
    const newest = found.at(-1);
    if (newest !== undefined) return identityOf(newest);
    if (from === start) return null;
  }
}

function isReadable(message: LogMessage): boolean {
  return message.unreadable === undefined;
}
