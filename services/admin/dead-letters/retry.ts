/**
 * `dead-letters retry` applies letters with the projector's own code, in a transaction that also
 * removes them. Its stamps make a race with a running projector a write conflict, which is retried.
 */
import type { ClientSession, Db } from 'mongodb';
import { findErasedIn, judgeEnds } from '#shared/access/erased-stores.ts';
import { describeError, isUnavailable } from '#shared/errors.ts';
import { getOrInsert } from '#shared/maps.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { eraseLetters } from '#shared/projection/erasure/erase.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import type { Slice } from '#shared/projection/slice/checkpoint.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { isJson, markFailed, printable, printResult, remark } from '../output.ts';
import { openServers } from '../servers.ts';
import { inTransaction } from '../transaction.ts';
import {
  checkSelection,
  type DeadLetterSource,
  deadLetterSources,
  findSummaries,
  type LetterSummary,
  otherSources,
  selectionCommand,
  withoutErasedLetters,
} from './letters.ts';
import { messagesOf, toMessage } from './messages.ts';

export const retryCommand = () =>
  selectionCommand('retry', 'Apply dead letters').action(async (ids, flags) => {
    checkSelection(ids, flags);
    await using servers = await openServers();
    const all = emptyResult();
    const missing = new Set(ids);
    const epochs: EpochsOf = new Map();
    const selection = { ids, reason: flags.reason };
    for (const source of await deadLetterSources(servers, ids, flags)) {
      for await (const slice of letterSlices(findSummaries(source, selection))) {
        const result = await retrySlice(source, slice, epochs);
        // Also in generations that are not live, so that a flip loses nothing.
        const sameLetters = { ids: slice.map(({ _id }) => _id) };
        for (const other of await otherSources(source)) {
          const found = findSummaries(other, sameLetters);
          for await (const same of letterSlices(found)) await retrySlice(other, same, epochs);
        }
        for (const id of sameLetters.ids) missing.delete(id);
        all.applied += result.applied;
        all.outdated += result.outdated;
        all.stayed.push(...result.stayed);
        all.gone.push(...result.gone);
        const said = isJson() ? [] : result.stayed;
        for (const { id, reason, detail } of said) remark(`${id}: ${reason}: ${printable(detail)}`);
      }
    }
    for (const id of missing) remark(`store-data: there is no dead letter ${id}`);
    printResult(
      { ...all, missing: [...missing] },
      `applied ${all.applied}, outdated ${all.outdated}, still dead ${all.stayed.length}`,
    );
    if (all.stayed.length > 0 || missing.size > 0) markFailed();
  });

const emptyResult = () => ({
  applied: 0,
  /** Removed without effect: the same or a newer version was applied before. */
  outdated: 0,
  stayed: [] as { id: string; reason: string; detail: string }[],
  /** Removed by another process meanwhile. */
  gone: [] as string[],
});

/** The epochs of this process, by database. */
type EpochsOf = Map<string, Epochs>;

async function retrySlice(
  source: DeadLetterSource,
  slice: readonly LetterSummary[],
  epochsOf: EpochsOf,
) {
  const { kind, db, topic, environment, obstacle } = source;
  const { servers } = environment;
  const result = emptyResult();
  const stay = ({ _id: id, reason }: LetterSummary, detail: string) =>
    result.stayed.push({ id, reason, detail });
  if (obstacle !== null) {
    for (const letter of slice) stay(letter, obstacle);
    return result;
  }
  const cut = slice.filter((letter) => letter.cut);
  /** Messages that their letters do not keep, by the letters' ids. */
  const fetched =
    cut.length === 0 ? new Map() : await messagesOf(await servers.logReader(topic), cut);
  const lost = cut.filter(({ _id }) => !fetched.has(_id));
  for (const letter of lost) {
    const isBatch = letter.gathered !== undefined;
    const what = isBatch ? 'its batch still cannot be read, or' : 'its message is not kept, and';
    stay(letter, `${what} Kafka does not have it any longer`);
  }
  const epochs = getOrInsert(epochsOf, db.databaseName, () => new Epochs());

  async function apply(ids: readonly string[]): Promise<void> {
    const [first, ...more] = ids;
    if (first === undefined) return;
    try {
      await applyTogether(ids);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      // A transaction can be too large, and one letter can fail.
      if (more.length > 0) for (const id of ids) await apply([id]);
      else result.stayed.push({ id: first, reason: 'failed', detail: describeError(error) });
    }
  }

  async function applyTogether(ids: readonly string[]): Promise<void> {
    const findErased = findErasedIn(await servers.control(), environment.name);
    const done = await inTransaction(db.client, async (session) => {
      const options = { session, sort: { partition: 1, offset: 1 } } as const;
      const found = await lettersIn(db)
        .find({ _id: { $in: [...ids] } }, options)
        .toArray();
      const messages = found.flatMap((letter) => fetched.get(letter._id) ?? [toMessage(letter)]);
      const { partition = 0, offset: next = 0 } = found[0] ?? {};
      const applied: Slice = { topic, partition, messages, next };
      const changes =
        kind === 'changes'
          ? await applyChanges(db, session, applied, { epochs, findErased })
          : undefined;
      const access =
        kind === 'access'
          ? await applyAccess(db, environment.name, session, applied, {
              judgeEnds: async (ends) =>
                judgeEnds(await servers.logReader(environment.topic), ends),
            })
          : undefined;
      const { deadLetters: dead = [] } = changes ?? access ?? {};
      await confirmLetters(db, session, found, dead);
      return { found, messages, dead, changes, access };
    });
    const { found, messages, dead, changes, access } = done;
    if (changes !== undefined) epochs.committed(changes.given);
    const outdated = changes?.plan.outdated ?? access?.outdated ?? 0;
    const present = new Set(found.map(({ _id }) => _id));
    result.applied += messages.length - dead.length - outdated;
    result.outdated += outdated;
    result.stayed.push(...dead.map(({ _id: id, reason, detail }) => ({ id, reason, detail })));
    result.gone.push(...ids.filter((id) => !present.has(id)));
    try {
      for (const record of access?.changed ?? []) await servers.publishToRedis(record);
    } catch (error) {
      // Without Redis the records stay marked, and the projector publishes them.
      if (!isUnavailable(error)) throw error;
    }
  }

  await apply(slice.filter((letter) => !lost.includes(letter)).map(({ _id }) => _id));
  const offsetOf = ({ id }: { id: string }) => Number(id.split('/').at(-1));
  result.stayed.sort((a, b) => offsetOf(a) - offsetOf(b));
  return result;
}

/**
 * Removes the applied letters. The others were rewritten with their new reason: the time of death
 * and the kept part are restored.
 */
async function confirmLetters(
  db: Db,
  session: ClientSession,
  found: readonly DeadLetter[],
  dead: readonly DeadLetter[],
): Promise<void> {
  const stayed = new Set(dead.map(({ _id }) => _id));
  const remaining = found.filter(({ _id }) => stayed.has(_id));
  const shown = await withoutErasedLetters(db, remaining, session);
  const named = remaining.flatMap(({ customers = [] }) => customers);
  for (const { _id, dead_at, cut, kept_bytes, erased } of shown) {
    const kept = cut === true && kept_bytes === 0 ? NOTHING_KEPT : {};
    await lettersIn(db).updateOne({ _id }, { $set: { dead_at, ...kept } }, { session });
    if (erased === true) await eraseLetters(db, session, { _id }, named, 1);
  }
  const done = found.map(({ _id }) => _id).filter((id) => !stayed.has(id));
  if (done.length > 0) await lettersIn(db).deleteMany({ _id: { $in: done } }, { session });
}

const SLICE_LETTERS = 100;
const SLICE_BYTES = 4_194_304;

async function* letterSlices(
  letters: AsyncIterable<LetterSummary>,
): AsyncGenerator<LetterSummary[]> {
  let slice: LetterSummary[] = [];
  let bytes = 0;
  for await (const letter of letters) {
    const [first] = slice;
    const fits =
      first === undefined ||
      (first.partition === letter.partition &&
        slice.length < SLICE_LETTERS &&
        first.gathered === undefined &&
        letter.gathered === undefined &&
        bytes + letter.value_bytes <= SLICE_BYTES);
    if (!fits) {
      yield slice;
      [slice, bytes] = [[], 0];
    }
    slice.push(letter);
    bytes += letter.value_bytes;
  }
  if (slice.length > 0) yield slice;
}
