/**
 * `dead-letters drop` removes letters for good; `skip` lets a partition continue behind a damaged
 * record batch or a failing message.
 */
import { inBatches } from '#shared/waiting.ts';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import type { LogReader } from '#shared/kafka/log-reader.ts';
import {
  damagedBatch,
  type LogMessage,
  offsetsInWords,
  type UnreadableBatch,
} from '#shared/kafka/message.ts';
import {
  decisionsIn,
  decisionToDrop,
  noteSkip,
  type Skipped,
} from '#shared/projection/dead-letters/decisions.ts';
import { identityOf, readPositions } from '#shared/projection/slice/checkpoint.ts';
import { lettersIn } from '#shared/read-models/collections.ts';
import { audited } from '../audit.ts';
import { command, wholeNumber, WrongUsage } from '../options.ts';
import { markFailed, printResult, remark, askFor, checkCanAsk } from '../output.ts';
import { type Environment, openServers, type Servers } from '../servers.ts';
import {
  checkSelection,
  countLetters,
  type DeadLetterSource,
  deadLetterSources,
  describeCount,
  findSummaries,
  type LetterSelection,
  otherSources,
  selectionCommand,
} from './letters.ts';

export const dropCommand = () =>
  selectionCommand('drop', 'Remove dead letters for good')
    .option('-y, --yes', 'do not ask')
    .action(async (ids, flags) => {
      checkSelection(ids, flags);
      checkCanAsk(flags, 'drop dead letters for good');
      await using servers = await openServers();
      const sources = await deadLetterSources(servers, ids, flags);
      // Letters that come during the question are not a part of the answer.
      const until = new Date();
      const selection = { ids, reason: flags.reason, until };
      const count = await countLetters(sources, selection);
      if (ids.length > count.letters) {
        remark(
          `store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`,
        );
        markFailed();
      }
      if (count.total > 0) {
        await askFor(flags, `Drop ${describeCount(count)} for good?`, 'nothing was dropped');
      }
      let dropped = 0;
      for (const source of sources) dropped += await dropLetters(source, selection);
      printResult({ dropped }, `dropped ${dropped}`);
    });

const DROP_BATCH = 1_000;

/**
 * Drops selected letters, in other generations too.
 * @returns how many there were in the source itself.
 */
async function dropLetters(source: DeadLetterSource, selection: LetterSelection): Promise<number> {
  const others = await otherSources(source);
  let dropped = 0;
  for await (const batch of inBatches(findSummaries(source, selection), DROP_BATCH)) {
    if (source.kind === 'changes') {
      const decisions = batch.map(decisionToDrop).map(({ _id, ...replacement }) => ({
        replaceOne: { filter: { _id }, replacement, upsert: true },
      }));
      await decisionsIn(await source.environment.servers.control()).bulkWrite(decisions, {
        ordered: false,
      });
    }
    const filter = { _id: { $in: batch.map(({ _id }) => _id) } };
    for (const { db } of others) await lettersIn(db).deleteMany(filter);
    dropped += (await lettersIn(source.db).deleteMany(filter)).deletedCount;
  }
  return dropped;
}

const offset = wholeNumber(0, 999_999_999_999_999);

export const skipCommand = () =>
  command('skip', 'Skip a damaged record batch or a failing message at which a partition waits')
    .requiredOption('--topic <topic>', 'its topic')
    .requiredOption('--partition <n>', 'its partition', wholeNumber(0, 1_000_000))
    .requiredOption('--offset <n>', 'the first offset that is skipped', offset)
    .option('--to <n>', 'the last one, if the batch does not say it', offset)
    .option('-y, --yes', 'do not ask')
    .action(async (flags) => {
      checkCanAsk(flags, 'skip');
      await using servers = await openServers();
      const { topic, partition } = flags;
      const environment = environmentOfTopic(servers, topic);
      const reader = await servers.logReader(topic);
      const what = await findSkippable(environment, reader, flags);
      const to = lastToSkip(what, flags.to, (await reader.bounds()).get(partition)?.end ?? 0);
      if (to !== what.to) await checkCannotBeRead(reader, { topic, partition, offset: to });
      const { from, digest, reason, detail } = what;
      const count = to - from + 1;
      const place = `${topic}/${partition}`;
      const question = `Skip ${count} offsets of ${place}, ${from} to ${to} (${reason}: ${detail})?`;
      await askFor(flags, question, 'nothing is skipped');
      const details = { topic, partition, from, to, reason };
      const control = await servers.control();
      await audited(
        servers,
        { action: 'dead-letters.skip', environment: environment.name, details },
        () => noteSkip(control, flags, { from, digest, reason, detail }, to),
        () => ({ details }),
      );
      printResult(details, `${place} continues at ${to + 1}; the dead letter is ${place}/${from}`);
    });

/** @throws {WrongUsage} if the topic belongs to no environment. */
function environmentOfTopic(servers: Servers, topic: string): Environment {
  const environments = servers.environmentsOf({});
  const found = environments.find((one) => one.topics.includes(topic));
  if (found !== undefined) return found;
  const topics = environments.flatMap((one) => one.topics);
  throw new WrongUsage(`there is no topic "${topic}"; known: ${topics.join(', ')}`);
}

interface Place {
  topic: string;
  partition: number;
  offset: number;
}

/** A batch or a message that can be skipped; `to` is its last offset. */
type Skippable = Skipped & Pick<UnreadableBatch, 'to'>;

/**
 * The damaged batch at an offset, or the message if a partition waits at it.
 * @throws {StoreDataError} `command_invalid` if there is neither, `history_lost` if the log has nothing.
 */
async function findSkippable(
  environment: Environment,
  reader: LogReader,
  place: Place,
): Promise<Skippable> {
  const messages = await readAt(reader, place);
  const batch = messages.map(damagedBatch).find((found) => found !== undefined);
  if (batch !== undefined) return batch;
  const message = messages.find(({ offset }) => Number(offset) === place.offset);
  if (message === undefined || !(await isWaitedFor(environment, reader, place)))
    throw isIntact(place);
  const { offset, digest } = identityOf(message);
  return {
    from: offset,
    to: offset,
    digest,
    reason: 'projection_failed',
    detail: 'a partition waits at this message',
  };
}

/** A partition waits at most so far before its message: only transaction markers are between. */
const MAX_GAP = 1_000;

/**
 * Whether the message at an offset is the next one of a checkpoint, in any generation or in the
 * control database.
 */
async function isWaitedFor(
  environment: Environment,
  reader: LogReader,
  { topic, partition, offset }: Place,
) {
  const generations = await environment.generations();
  for (const db of [await environment.servers.control(), ...generations.map((one) => one.db)]) {
    const position = (await readPositions(db, topic)).get(partition) ?? Infinity;
    if (position > offset || offset - position > MAX_GAP) continue;
    const [first] = await readAt(reader, { topic, partition, offset: position }, offset + 1);
    if (Number(first?.offset) === offset) return true;
  }
  return false;
}

/** Checks that the operator's last offset is not in an intact batch. */
async function checkCannotBeRead(reader: LogReader, place: Place): Promise<void> {
  const found = (await readAt(reader, place)).find(({ offset }) => Number(offset) === place.offset);
  if (found !== undefined && damagedBatch(found) === undefined) throw isIntact(place);
}

/** The messages at one offset, or up to another, exclusive. */
async function readAt(
  reader: LogReader,
  { partition, offset: from }: Place,
  to = from + 1,
): Promise<LogMessage[]> {
  const messages: LogMessage[] = [];
  await reader.read({ partition, from, to }, (read) => {
    messages.push(...read);
  });
  return messages;
}

function isIntact({ topic, partition, offset }: Place): StoreDataError {
  return commandInvalid(
    `the message at ${topic}/${partition}/${offset} is intact, and no partition waits there: nothing is skipped`,
  );
}

/**
 * The last offset to skip.
 * @param given by the operator.
 * @param logEnd the offset after the log's last one: a position beyond it would count as lost history for ever.
 * @throws {StoreDataError} `command_invalid` if it is unknown, or differs from the operator's.
 */
export function lastToSkip(what: Skippable, given: number | undefined, logEnd: number): number {
  const refuse = (why: string) =>
    commandInvalid(`the batch has the offsets ${offsetsInWords(what)}${why}`);
  if (what.to !== null) {
    if (given === undefined || given === what.to) return what.to;
    throw refuse(': leave out --to, only these are skipped');
  }
  if (given === undefined) {
    throw refuse(', and its end is unknown: give --to, the last offset to skip');
  }
  if (given < what.from) throw refuse(': --to is before it');
  if (given >= logEnd) throw refuse(`, and the log ends with ${logEnd - 1}: --to is beyond it`);
  return given;
}
