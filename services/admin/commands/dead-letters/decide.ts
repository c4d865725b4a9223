/**
 * `dead-letters retry` applies what could not be applied before, after a release or a key that was missing; `drop` forgets it for good;
 * `skip` lets a partition continue behind a damaged record batch, or a message that fails.
 */
import { inBatches } from '#shared/waiting.ts';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { damagedBatch, type LogMessage, offsetsInWords, type UnreadableBatch } from '#shared/kafka/message.ts';
import { decisionsIn, decisionToDrop, noteSkip, type Skipped } from '#shared/projection/dead-letters/decisions.ts';
import { identityOf, readPositions } from '#shared/projection/slice/checkpoint.ts';
import { audited } from '../../audit.ts';
import {
  checkSelection,
  countLetters,
  type DeadLetterSource,
  deadLetterSources,
  describeCount,
  findSummaries,
  letterFilter,
  letterIds,
  letterReason,
  type LetterSelection,
  otherSources,
} from '../../dead-letters/letters.ts';
import { addUp, retryLetters, type RetryResult } from '../../dead-letters/retry.ts';
import { command, environmentOption, wholeNumber, WrongUsage } from '../../options.ts';
import { isJson, markFailed, printable, printResult, remark } from '../../output/print.ts';
import { askFor, checkCanAsk } from '../../output/terminal.ts';
import { type Servers, withServers } from '../../servers.ts';

function selectionCommand(verb: string, description: string) {
  return command(verb, description)
    .argument('[ids...]', `letters to ${verb}: <topic>/<partition>/<offset>`, letterIds)
    .option('--reason <reason>', `${verb} those of one reason`, letterReason)
    .option('--all', `${verb} all`)
    .addOption(environmentOption('with --reason or --all: only those of an environment'));
}

export const retryCommand = () =>
  selectionCommand('retry', 'Apply dead letters').action(async (ids, flags) => {
    checkSelection(ids, flags);
    await withServers(async (servers) => {
      const results: RetryResult[] = [];
      const missing = new Set(ids);
      const sources = await deadLetterSources(servers, ids, flags.environment);
      const selection = { ids, reason: flags.reason };
      for (const source of sources) {
        for await (const { ids: tried, result } of retryLetters(servers, source, selection)) {
          for (const id of tried) missing.delete(id);
          results.push(result);
          const said = isJson() ? [] : result.stayed;
          for (const { id, reason, detail } of said) remark(`${id}: ${reason}: ${printable(detail)}`);
        }
      }
      for (const id of missing) remark(`store-data: there is no dead letter ${id}`);
      const { applied, outdated, stayed, gone } = addUp(results);
      printResult(
        { applied, outdated, stayed, gone, missing: [...missing] },
        `applied ${applied}, outdated ${outdated}, still dead ${stayed.length}`,
      );
      if (stayed.length > 0 || missing.size > 0) markFailed();
    });
  });

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
        const count = await countLetters(sources, { ids, reason: flags.reason, until });
        if (ids.length > count.letters) {
          remark(`store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`);
          markFailed();
        }
        if (count.total > 0) {
          await askFor(flags, `Drop ${describeCount(count)} for good?`, 'nothing was dropped');
        }
        let dropped = 0;
        for (const source of sources) {
          dropped += await dropLetters(servers, source, { ids, reason: flags.reason, until });
        }
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
        const { what, logEnd } = await findSkippable(servers, environment, flags);
        const to = lastToSkip(what, flags.to, logEnd);
        if (to !== what.to) await checkCannotBeRead(servers, { topic, partition, offset: to });
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
 * The batch at an offset, or the message if a partition waits at it, and where the partition's log ends.
 * @throws {StoreDataError} `command_invalid` when neither lies there, `history_lost` when nothing lies there.
 */
async function findSkippable(
  servers: Servers,
  environment: string,
  place: Place,
): Promise<{ what: Skippable; logEnd: number }> {
  const { messages, logEnd } = await readAt(servers, place);
  const batch = messages.map(damagedBatch).find((found) => found !== undefined);
  if (batch !== undefined) return { what: batch, logEnd };
  const message = messages.find(({ offset }) => Number(offset) === place.offset);
  if (message === undefined || !(await isWaitedFor(servers, environment, place))) throw nobodyWaits(place);
  const { offset, digest } = identityOf(message);
  const detail = 'a partition waits at this message';
  return { what: { from: offset, to: offset, digest, reason: 'projection_failed', detail }, logEnd };
}

/** Whether a checkpoint stands before the message at an offset: in any generation, or in the control database. */
async function isWaitedFor(
  servers: Servers,
  environment: string,
  { topic, partition, offset }: Place,
): Promise<boolean> {
  const generations = await servers.generations(environment);
  for (const db of [await servers.control(), ...generations.map((one) => one.db)]) {
    const position = (await readPositions(db, topic)).get(partition) ?? Infinity;
    // Between them lie markers of transactions at most.
    if (position > offset || offset - position > MAX_GAP) continue;
    const { messages } = await readAt(servers, { topic, partition, offset: position }, offset + 1);
    if (Number(messages[0]?.offset) === offset) return true;
  }
  return false;
}

/** Checks that what an operator names as the last offset cannot be read: it may lie in another batch, which is not lost then. */
async function checkCannotBeRead(servers: Servers, place: Place): Promise<void> {
  const { messages } = await readAt(servers, place);
  const found = messages.find(({ offset }) => Number(offset) === place.offset);
  if (found !== undefined && damagedBatch(found) === undefined) throw nobodyWaits(place);
}

/** How far before a message its partition may wait: what lies between is no message. */
const MAX_GAP = 1_000;

/** What the broker has at one offset, or from there up to, but without, another. */
function readAt(servers: Servers, { topic, partition, offset }: Place, to = offset + 1) {
  return servers.readLog(topic, async (reader) => {
    const logEnd = (await reader.bounds()).get(partition)?.end ?? 0;
    const messages: LogMessage[] = [];
    await reader.read({ partition, from: offset, to }, (read) => {
      messages.push(...read);
    });
    return { messages, logEnd };
  });
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
