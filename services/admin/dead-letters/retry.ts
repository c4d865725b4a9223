/**
 * Retrying dead letters: the projector's own code, with the same guard against old versions, in a transaction
 * that also removes what was applied. The stamps that it writes turn a race with a running projector into a
 * conflict, and then it is done again.
 */
import type { ClientSession } from 'mongodb';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { describeError, isUnavailable } from '#shared/errors.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { eraseLetters } from '#shared/projection/erasure/erase.ts';
import type { Slice } from '#shared/projection/slice/slice.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import type { Servers } from '../servers.ts';
import { inTransaction } from '../transaction.ts';
import {
  findSummaries,
  type DeadLetterSource,
  letterFilter,
  type LetterSelection,
  type LetterSummary,
  otherSources,
  withoutErasedLetters,
} from './letters.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import { messagesOf, toMessage } from './messages.ts';

interface Stayed {
  id: string;
  reason: string;
  detail: string;
}

export interface RetryResult {
  applied: number;
  /** Removed without effect: something as new was applied before. */
  outdated: number;
  stayed: Stayed[];
  /** Removed by somebody else meanwhile. */
  gone: string[];
}

interface Retrying {
  servers: Servers;
  /** Opened for the first letter that does not keep its message. */
  reader: LogReader | null;
  /** By database. */
  epochs: Map<string, Epochs>;
}

/** Retries what a selection has in a source, in the order of its log: slice by slice, each with its letters' ids. */
export async function* retryLetters(
  servers: Servers,
  source: DeadLetterSource,
  selection: LetterSelection,
): AsyncGenerator<{ ids: string[]; result: RetryResult }> {
  const retrying: Retrying = { servers, reader: null, epochs: new Map() };
  try {
    for await (const slice of letterSlices(findSummaries(source, letterFilter(source, selection)))) {
      const ids = slice.map(({ _id }) => _id);
      const result = await retrySlice(retrying, source, slice);
      // Generations that are not live shall have the same effect, so that going over to one of them loses nothing.
      for (const other of await otherSources(servers, source)) {
        const found = findSummaries(other, letterFilter(other, { ids }));
        for await (const same of letterSlices(found)) await retrySlice(retrying, other, same);
      }
      yield { ids, result };
    }
  } finally {
    await retrying.reader?.close();
  }
}

async function retrySlice(
  retrying: Retrying,
  source: DeadLetterSource,
  slice: readonly LetterSummary[],
): Promise<RetryResult> {
  if (source.obstacle !== null) return stuck(slice, source.obstacle);
  const cut = slice.filter((letter) => letter.cut);
  if (cut.length > 0) retrying.reader ??= await LogReader.open(retrying.servers, source.topic);
  const fetched: FetchedMessages = retrying.reader ? await messagesOf(retrying.reader, cut) : new Map();
  const lost = new Set(cut.filter(({ _id }) => !fetched.has(_id)));
  const givenUp = [...lost].map((letter) => {
    const what = letter.gathered === undefined ? 'its message is not kept' : 'its batch still cannot be read';
    const have = letter.gathered === undefined ? 'and' : 'or';
    return stuck([letter], `${what}, ${have} Kafka does not have it any longer`);
  });
  const present = slice.filter((letter) => !lost.has(letter)).map(({ _id }) => _id);
  const result = addUp([...givenUp, await apply(retrying, source, present, fetched)]);
  const order = new Map(slice.map(({ _id }, index) => [_id, index]));
  result.stayed.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
  return result;
}

/** @param ids letters of one partition. */
async function apply(
  retrying: Retrying,
  source: DeadLetterSource,
  ids: readonly string[],
  fetched: FetchedMessages,
): Promise<RetryResult> {
  const [first] = ids;
  if (first === undefined) return addUp([]);
  try {
    return await applyTogether(retrying, source, ids, fetched);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (ids.length === 1) {
      return { ...addUp([]), stayed: [{ id: first, reason: 'failed', detail: describeError(error) }] };
    }
    // A transaction can be too large, and one letter must not hold up the others.
    const alone: RetryResult[] = [];
    for (const id of ids) alone.push(await apply(retrying, source, [id], fetched));
    return addUp(alone);
  }
}

async function applyTogether(
  { servers, epochs: known }: Retrying,
  source: DeadLetterSource,
  ids: readonly string[],
  fetched: FetchedMessages,
): Promise<RetryResult> {
  const { kind, environment, db, topic, letters } = source;
  const epochs = known.get(db.databaseName) ?? new Epochs();
  known.set(db.databaseName, epochs);
  const findErased = findErasedIn(await servers.control(), environment);
  const { result, access, given } = await inTransaction(db.client, async (session) => {
    const options = { session, sort: { partition: 1, offset: 1 } } as const;
    const found = await letters.find({ _id: { $in: [...ids] } }, options).toArray();
    const messages = found.flatMap((letter) => fetched.get(letter._id) ?? [toMessage(letter)]);
    const [first] = found;
    const slice: Slice = { topic, partition: first?.partition ?? 0, messages, next: first?.offset ?? 0 };
    const changes = kind === 'changes' ? await applyChanges(db, session, slice, { epochs, findErased }) : undefined;
    const access = kind === 'access' ? await applyAccess(db, environment, session, slice) : undefined;
    const { deadLetters = [] } = changes ?? access ?? {};
    await confirmLetters(source, session, found, deadLetters);
    const outdated = changes?.plan?.outdated ?? access?.outdated ?? 0;
    const present = new Set(found.map(({ _id }) => _id));
    const result: RetryResult = {
      applied: messages.length - deadLetters.length - outdated,
      outdated,
      stayed: deadLetters.map(({ _id, reason, detail }) => ({ id: _id, reason, detail })),
      gone: ids.filter((id) => !present.has(id)),
    };
    return { result, access, given: changes?.given };
  });
  if (given !== undefined) epochs.committed(given);
  try {
    const { namePrefix } = servers.config;
    for (const record of access?.changed ?? []) {
      await publishAccess(await servers.redis(), namePrefix, await servers.access(), record);
    }
  } catch (error) {
    // Where Redis is away the records stay marked, and the projector publishes them.
    if (!isUnavailable(error)) throw error;
  }
  return result;
}

type FetchedMessages = ReadonlyMap<string, readonly LogMessage[]>;

/**
 * Removes the letters whose messages were applied. Those that stay were written anew, with the reason of today; when they died and what
 * they keep do not change by that.
 */
async function confirmLetters(
  { db, letters }: DeadLetterSource,
  session: ClientSession,
  found: readonly DeadLetter[],
  dead: readonly DeadLetter[],
): Promise<void> {
  const stayed = new Set(dead.map(({ _id }) => _id));
  const remaining = found.filter(({ _id }) => stayed.has(_id));
  const shown = await withoutErasedLetters(db, remaining, session);
  for (const { _id, dead_at, cut, kept_bytes, erased } of shown) {
    const kept = cut === true && kept_bytes === 0 ? NOTHING_KEPT : {};
    await letters.updateOne({ _id }, { $set: { dead_at, ...kept } }, { session });
    if (erased === true) await eraseLetters(db, session, [_id]);
  }
  const done = found.map(({ _id }) => _id).filter((id) => !stayed.has(id));
  if (done.length > 0) await letters.deleteMany({ _id: { $in: done } }, { session });
}

export function addUp(results: readonly RetryResult[]): RetryResult {
  return {
    applied: results.reduce((sum, { applied }) => sum + applied, 0),
    outdated: results.reduce((sum, { outdated }) => sum + outdated, 0),
    stayed: results.flatMap(({ stayed }) => stayed),
    gone: results.flatMap(({ gone }) => gone),
  };
}

/** The result for letters that need not even be tried. */
function stuck(letters: readonly LetterSummary[], detail: string): RetryResult {
  return { ...addUp([]), stayed: letters.map(({ _id, reason }) => ({ id: _id, reason, detail })) };
}

const SLICE_LETTERS = 100;
const SLICE_BYTES = 4_194_304;

export async function* letterSlices(letters: AsyncIterable<LetterSummary>): AsyncGenerator<LetterSummary[]> {
  let slice: LetterSummary[] = [];
  let bytes = 0;
  for await (const letter of letters) {
    const [first] = slice;
    const fits =
      first === undefined ||
      (first.topic === letter.topic &&
        first.partition === letter.partition &&
        slice.length < SLICE_LETTERS &&
        first.gathered === undefined &&
        letter.gathered === undefined &&
        bytes + letter.value_bytes <= SLICE_BYTES);
    if (!fits) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(letter);
    bytes += letter.value_bytes;
  }
  if (slice.length > 0) yield slice;
}
