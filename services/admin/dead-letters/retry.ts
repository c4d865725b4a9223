/**
 * Retrying dead letters: the projector's own code, with the same guard against old versions, in a transaction
 * that also removes what was applied. The stamps that it writes turn a race with a running projector into a
 * conflict, and then it is done again.
 */
import type { ClientSession } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
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
import type { Servers } from '../connection/servers.ts';
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
import { MessagesInKafka, toMessage } from './messages.ts';

interface Stayed {
  id: string;
  reason: string;
  detail: string;
}

export interface RetryResult {
  applied: number;
  /** Removed without effect: something as new was applied before. */
  outdated: number;
  /** Still dead, and why. */
  stayed: Stayed[];
  /** Removed by somebody else meanwhile. */
  gone: string[];
}

export class LetterRetry {
  readonly #servers: Servers;
  readonly #inKafka: MessagesInKafka;
  /** By database. */
  readonly #epochs = new Map<string, Epochs>();

  constructor(servers: Servers) {
    this.#servers = servers;
    this.#inKafka = new MessagesInKafka(servers);
  }

  /** Retries what a selection has in a source, in the order of its log: slice by slice, each with its letters' ids. */
  async *all(
    source: DeadLetterSource,
    selection: LetterSelection,
  ): AsyncGenerator<{ ids: string[]; result: RetryResult }> {
    for await (const slice of letterSlices(findSummaries(source, letterFilter(source, selection)))) {
      const ids = slice.map(({ _id }) => _id);
      const result = await this.#retry(source, slice);
      // Generations that are not live shall have the same effect, so that going over to one of them loses nothing.
      for (const other of await otherSources(this.#servers, source)) {
        const found = findSummaries(other, letterFilter(other, { ids }));
        for await (const same of letterSlices(found)) await this.#retry(other, same);
      }
      yield { ids, result };
    }
  }

  close(): Promise<void> {
    return this.#inKafka.close();
  }

  async #retry(source: DeadLetterSource, slice: readonly LetterSummary[]): Promise<RetryResult> {
    if (source.obstacle !== null) return stuck(slice, source.obstacle);
    const cut = slice.filter((letter) => letter.cut);
    const fetched = await this.#inKafka.of(cut);
    const lost = new Set(cut.filter(({ _id }) => !fetched.has(_id)));
    const givenUp = [...lost].map((letter) =>
      stuck(
        [letter],
        letter.gathered === undefined
          ? 'its message is not kept, and Kafka does not have it any longer'
          : 'its batch still cannot be read, or Kafka does not have it any longer',
      ),
    );
    const present = slice.filter((letter) => !lost.has(letter)).map(({ _id }) => _id);
    const result = addUp([...givenUp, await this.#apply(source, present, fetched)]);
    const order = new Map(slice.map(({ _id }, index) => [_id, index]));
    result.stayed.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
    return result;
  }

  /** @param ids letters of one partition. */
  async #apply(
    source: DeadLetterSource,
    ids: readonly string[],
    fetched: FetchedMessages,
  ): Promise<RetryResult> {
    if (ids.length === 0) return addUp([]);
    try {
      return await this.#applyTogether(source, ids, fetched);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      if (ids.length === 1) {
        const stayed = ids.map((id) => ({ id, reason: 'failed', detail: describeError(error) }));
        return { ...addUp([]), stayed };
      }
      // A transaction can be too large, and one letter must not hold up the others.
      const alone: RetryResult[] = [];
      for (const id of ids) alone.push(await this.#apply(source, [id], fetched));
      return addUp(alone);
    }
  }

  async #applyTogether(
    source: DeadLetterSource,
    ids: readonly string[],
    fetched: FetchedMessages,
  ): Promise<RetryResult> {
    const { kind, environment, db, topic, letters } = source;
    const epochs = this.#epochs.get(db.databaseName) ?? new Epochs();
    this.#epochs.set(db.databaseName, epochs);
    const findErased = findErasedIn(await this.#servers.control(), environment);
    const { result, access, given } = await inTransaction(db.client, async (session) => {
      const options = { session, sort: { partition: 1, offset: 1 } } as const;
      const found = await letters.find({ _id: { $in: [...ids] } }, options).toArray();
      const messages = found.flatMap((letter) => fetched.get(letter._id) ?? [toMessage(letter)]);
      const [first] = found;
      const slice: Slice = { topic, partition: first?.partition ?? 0, messages, next: first?.offset ?? 0 };
      const changes =
        kind === 'changes' ? await applyChanges(db, session, slice, { epochs, findErased }) : undefined;
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
    // Where Redis is away the records stay marked, and the projector publishes them.
    if (access !== undefined) {
      await this.#publish(access).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
      });
    }
    return result;
  }

  async #publish({ keys, stores }: Awaited<ReturnType<typeof applyAccess>>): Promise<void> {
    if (keys.length + stores.length === 0) return;
    const redis = await this.#servers.redis();
    const { namePrefix: prefix } = this.#servers.config;
    const control = controlCollections(await this.#servers.control());
    for (const key of keys) await publishAccess(redis, prefix, { key, keys: control.keys });
    for (const store of stores) await publishAccess(redis, prefix, { store, stores: control.stores });
  }
}

/** Messages that letters do not keep, by letter id. */
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

/** All results as one. */
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

/** Yields slices of ids. */
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
