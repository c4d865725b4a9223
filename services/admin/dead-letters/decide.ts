/**
 * `dead-letters drop` forgets what could not be applied for good; `skip` lets a partition continue behind a damaged record batch, or a
 * message that fails.
 */
import { inBatches } from '#shared/waiting.ts';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { LogReader } from '#shared/kafka/log-reader.ts';
import { damagedBatch, type LogMessage, offsetsInWords, type UnreadableBatch } from '#shared/kafka/message.ts';
import { decisionsIn, decisionToDrop, noteSkip, type Skipped } from '#shared/projection/dead-letters/decisions.ts';
import { identityOf, readPositions } from '#shared/projection/slice/checkpoint.ts';
import { audited } from '../audit.ts';
import { command, wholeNumber, WrongUsage } from '../options.ts';
import { markFailed, printResult, remark, askFor, checkCanAsk } from '../output.ts';
import { type Servers, withServers } from '../servers.ts';
import {
  checkSelection,
  countLetters,
  type DeadLetterSource,
  deadLetterSources,
  describeCount,
  findSummaries,
  letterFilter,
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
      await withServers(async (servers) => {
        const sources = await deadLetterSources(servers, ids, flags.environment);
        // Letters that come while the operator answers the question were not part of it.
        const until = new Date();
        const selection = { ids, reason: flags.reason, until };
        const count = await countLetters(sources, selection);
        if (ids.length > count.letters) {
          remark(`store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`);
          markFailed();
        }
        if (count.total > 0) {
          await askFor(flags, `Drop ${describeCount(count)} for good?`, 'nothing was dropped');
        }
        let dropped = 0;
        for (const source of sources) dropped += await dropLetters(servers, source, selection);
        printResult({ dropped }, `dropped ${dropped}`);
      });
    });

const DROP_BATCH = 1_000;

/** Drops what a selection has in a source, in other generations too. @returns how many letters of the source itself. */
async function dropLetters(servers: Servers, source: DeadLetterSource, selection: LetterSelection): Promise<number> {
  const others = (await otherSources(servers, source)).map(({ letters }) => letters);
  let dropped = 0;
  for await (const batch of inBatches(findSummaries(source, letterFilter(source, selection)), DROP_BATCH)) {
    if (source.kind === 'changes') {
      const decisions = batch.map(decisionToDrop).map(({ _id, ...replacement }) => ({
        replaceOne: { filter: { _id }, replacement, upsert: true },
      }));
      await decisionsIn(await servers.control()).bulkWrite(decisions, { ordered: false });
    }
    const filter = { _id: { $in: batch.map(({ _id }) => _id) } };
    for (const letters of others) await letters.deleteMany(filter);
    dropped += (await source.letters.deleteMany(filter)).deletedCount;
  }
  return dropped;
}

const offset = wholeNumber(0, 999_999_999_999_999);

export const skipCommand = () =>
  command('skip', 'Skip a damaged record batch, or a message that keeps failing, where a partition waits')
    .requiredOption('--topic <topic>', 'where it lies')
    .requiredOption('--partition <n>', 'where it lies', wholeNumber(0, 1_000_000))
    .requiredOption('--offset <n>', 'the first offset that is skipped', offset)
    .option('--to <n>', 'the last one, where that cannot be told', offset)
    .option('-y, --yes', 'do not ask')
    .action(async (flags) => {
      checkCanAsk(flags, 'skip');
      await withServers(async (servers) => {
        const { topic, partition } = flags;
        const environment = environmentOf(servers, topic);
        const { what, to } = await servers.readLog(topic, async (reader) => {
          const found = await findSkippable(servers, environment, reader, flags);
          const last = lastToSkip(found, flags.to, (await reader.bounds()).get(partition)?.end ?? 0);
          if (last !== found.to) await checkCannotBeRead(reader, { topic, partition, offset: last });
          return { what: found, to: last };
        });
        const { from, reason, detail } = what;
        const count = to - from + 1;
        const question = `Skip ${count} offsets of ${topic}/${partition}, ${from} to ${to} (${reason}: ${detail})?`;
        await askFor(flags, question, 'nothing is skipped');
        const details = { topic, partition, from, to, reason };
        await audited(servers, { action: 'dead-letters.skip', environment, details }, async () => {
          await noteSkip(await servers.control(), flags, { from, digest: what.digest, reason, detail }, to);
          return { result: undefined, details };
        });
        const place = `${topic}/${partition}`;
        printResult(details, `${place} goes on at ${to + 1}; the dead letter is ${place}/${from}`);
      });
    });

/** @throws {WrongUsage} when it is none of ours. */
function environmentOf({ config: { environments } }: Servers, topic: string): string {
  const found = environments.find((name) => topic === changesTopic(name) || topic === accessTopic(name));
  if (found !== undefined) return found;
  const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
  throw new WrongUsage(`there is no topic "${topic}"; there are ${topics.join(', ')}`);
}

interface Place {
  topic: string;
  partition: number;
  offset: number;
}

/** What can be skipped, and up to where. */
type Skippable = Skipped & Pick<UnreadableBatch, 'to'>;

/**
 * The batch at an offset, or the message if a partition waits at it.
 * @throws {StoreDataError} `command_invalid` when neither lies there, `history_lost` when nothing lies there.
 */
async function findSkippable(
  servers: Servers,
  environment: string,
  reader: LogReader,
  place: Place,
): Promise<Skippable> {
  const messages = await readAt(reader, place);
  const batch = messages.map(damagedBatch).find((found) => found !== undefined);
  if (batch !== undefined) return batch;
  const message = messages.find(({ offset }) => Number(offset) === place.offset);
  if (message === undefined || !(await isWaitedFor(servers, environment, reader, place))) throw nobodyWaits(place);
  const { offset, digest } = identityOf(message);
  return {
    from: offset,
    to: offset,
    digest,
    reason: 'projection_failed',
    detail: 'a partition waits at this message',
  };
}

/** How far before a message its partition may wait: what lies between are markers of transactions at most. */
const MAX_GAP = 1_000;

/** Whether a checkpoint stands before the message at an offset: in any generation, or in the control database. */
async function isWaitedFor(
  servers: Servers,
  environment: string,
  reader: LogReader,
  { topic, partition, offset }: Place,
): Promise<boolean> {
  const generations = await servers.generations(environment);
  for (const db of [await servers.control(), ...generations.map((one) => one.db)]) {
    const position = (await readPositions(db, topic)).get(partition) ?? Infinity;
    if (position > offset || offset - position > MAX_GAP) continue;
    const [first] = await readAt(reader, { topic, partition, offset: position }, offset + 1);
    if (Number(first?.offset) === offset) return true;
  }
  return false;
}

/** Checks that what an operator names as the last offset cannot be read: it may lie in another batch, which is not lost then. */
async function checkCannotBeRead(reader: LogReader, place: Place): Promise<void> {
  const found = (await readAt(reader, place)).find(({ offset }) => Number(offset) === place.offset);
  if (found !== undefined && damagedBatch(found) === undefined) throw nobodyWaits(place);
}

/** What the broker has at one offset, or from there up to, but without, another. */
async function readAt(reader: LogReader, { partition, offset: from }: Place, to = from + 1): Promise<LogMessage[]> {
  const messages: LogMessage[] = [];
  await reader.read({ partition, from, to }, (read) => {
    messages.push(...read);
  });
  return messages;
}

function nobodyWaits({ topic, partition, offset }: Place): StoreDataError {
  return commandInvalid(
    `what lies at ${topic}/${partition}/${offset} is intact, and no partition waits there: nothing is skipped`,
  );
}

/**
 * The last offset that is to be skipped.
 * @param given what the operator says.
 * @param logEnd the offset behind the log's last one: a position beyond it would count as lost history for ever.
 * @throws {StoreDataError} `command_invalid` when it cannot be told, or is another than the operator says.
 */
export function lastToSkip(what: Skippable, given: number | undefined, logEnd: number): number {
  const refuse = (why: string) => commandInvalid(`the batch has the offsets ${offsetsInWords(what)}${why}`);
  if (what.to !== null) {
    if (given === undefined || given === what.to) return what.to;
    throw refuse(': leave out --to, no more than that is passed by');
  }
  if (given === undefined) {
    throw refuse(', and where it ends cannot be told: give --to, the last offset to pass by');
  }
  if (given < what.from) throw refuse(': --to lies before it');
  if (given >= logEnd) throw refuse(`, and the log ends with ${logEnd - 1}: --to lies beyond it`);
  return given;
}
