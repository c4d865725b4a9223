/** `dead-letters skip`: lets a partition continue behind a damaged record batch, or a message that fails. */
import { Command } from '@commander-js/extra-typings';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { audited } from '../../audit.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { jsonOption, wholeNumber, WrongUsage } from '../../options.ts';
import { askFor, checkCanAsk } from '../../output/terminal.ts';
import { printResult } from '../../output/print.ts';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import {
  damagedBatch,
  type LogMessage,
  offsetsInWords,
  type UnreadableBatch,
} from '#shared/kafka/message.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { type Checkpoint, checkpointId, identityOf } from '#shared/projection/slice/checkpoint.ts';
import { noteSkip, type Skipped } from '#shared/projection/dead-letters/decisions.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';

const offset = wholeNumber(0, 999_999_999_999_999);

export const skipCommand = () =>
  new Command('skip')
    .description('Skip a damaged record batch, or a message that keeps failing, where a partition waits')
    .requiredOption('--topic <topic>', 'where it lies')
    .requiredOption('--partition <n>', 'where it lies', wholeNumber(0, 1_000_000))
    .requiredOption('--offset <n>', 'the first offset that is skipped', offset)
    .option('--to <n>', 'the last one, where that cannot be told', offset)
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
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
        printResult(flags, details, `${place} goes on at ${to + 1}; the dead letter is ${place}/${from}`);
      });
    });

/** @throws {WrongUsage} when it is none of ours. */
function environmentOf({ config: { environments } }: Servers, topic: string): string {
  const found = environments.find((name) => topic === changesTopic(name) || topic === accessTopic(name));
  if (found !== undefined) return found;
  const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
  throw new WrongUsage(`there is no topic "${topic}"; there are ${topics.join(', ')}`);
}

export interface Place {
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
  const generations = await findGenerations(await servers.databases(environment), environment);
  const databases = [await servers.control(), ...generations.map(({ db }) => db)];
  for (const db of databases) {
    const stored = await db
      .collection<Checkpoint>(CHECKPOINTS)
      .findOne({ _id: checkpointId(topic, partition) }, { projection: { position: 1 } });
    const position = stored?.position ?? Infinity;
    // Between them lie markers of transactions at most.
    if (position > offset || offset - position > MAX_GAP) continue;
    const { messages } = await readAt(servers, { topic, partition, offset: position }, offset + 1);
    if (Number(messages[0]?.offset) === offset) return true;
  }
  return false;
}

/**
 * Checks that what an operator names as the last offset cannot be read: it may lie in another batch, which is not lost then.
 * @throws {StoreDataError} `command_invalid` when it can.
 */
async function checkCannotBeRead(servers: Servers, place: Place): Promise<void> {
  const { messages } = await readAt(servers, place);
  const found = messages.find(({ offset }) => Number(offset) === place.offset);
  if (found !== undefined && damagedBatch(found) === undefined) throw nobodyWaits(place);
}

/** How far before a message its partition may wait: what lies between is no message. */
const MAX_GAP = 1_000;

/** What the broker has at one offset, or from there up to, but without, another. */
async function readAt(
  servers: Servers,
  { topic, partition, offset }: Place,
  to = offset + 1,
): Promise<{ messages: LogMessage[]; logEnd: number }> {
  const reader = await LogReader.open(servers, topic);
  try {
    const logEnd = (await reader.bounds()).get(partition)?.end ?? 0;
    const messages: LogMessage[] = [];
    await reader.read({ partition, from: offset, to }, (read) => {
      messages.push(...read);
    });
    return { messages, logEnd };
  } finally {
    await reader.close();
  }
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
  const offsets = offsetsInWords(what);
  if (what.to === null) {
    if (given === undefined) {
      throw commandInvalid(
        `the batch has the offsets ${offsets}, and where it ends cannot be told: give --to, the last offset to pass by`,
      );
    }
    if (given < what.from) {
      throw commandInvalid(`the batch has the offsets ${offsets}: --to lies before it`);
    }
    if (given >= logEnd) {
      throw commandInvalid(
        `the batch has the offsets ${offsets}, and the log ends with ${logEnd - 1}: --to lies beyond it`,
      );
    }
    return given;
  }
  if (given !== undefined && given !== what.to) {
    throw commandInvalid(
      `the batch has the offsets ${offsets}: leave out --to, no more than that is passed by`,
    );
  }
  return what.to;
}
