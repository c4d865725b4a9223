/** Reads parts of a topic again, without a consumer group. Placeholders are among the messages. */
import type { Db } from 'mongodb';
import { StoreDataError, unavailable } from '../errors.ts';
import { skippedTo } from '../projection/dead-letters/decisions.ts';
import { systemClock } from '../waiting.ts';
import { connectBrokers } from './brokers.ts';
import { type Cluster, readLogBounds } from './cluster.ts';
import { type LogMessage, offsetsInWords, type UnreadableBatch } from './message.ts';
import { createFetcher } from './fetcher.ts';

/** A read gives up after this time without a message. */
const SILENCE_MS = 30_000;
const MAX_BYTES = 4_194_304;

export type LogReader = Awaited<ReturnType<typeof createLogReader>>;

export async function createLogReader(cluster: Cluster, control: Db, topic: string) {
  const brokers = await connectBrokers(cluster, topic);
  const bounds = () => readLogBounds(cluster, topic);
  const fetcher = createFetcher({ brokers, clock: systemClock });

  /** The offset behind an unreadable batch of unknown end, if an operator decided where it ends. */
  const behind = async (partition: number, open: UnreadableBatch): Promise<number> => {
    const to = await skippedTo(control, topic, partition, open);
    if (to !== null) return to + 1;
    throw new StoreDataError(
      'batch_unreadable',
      `${topic}/${partition}: the record batch of the offsets ${offsetsInWords(open)} cannot be read: ${open.detail}`,
    );
  };

  /**
   * Hands out a partition's messages from `from` up to, but without, `to`, in batches.
   * @throws {StoreDataError} `history_lost` when the log does not hold that part, `environment_unavailable` when no message comes for
   * long, `batch_unreadable` for an unreadable batch whose end is unknown; and what `take` throws.
   */
  const read = async (
    { partition, from, to }: { partition: number; from: number; to: number },
    take: (messages: readonly LogMessage[]) => Promise<void> | void,
  ): Promise<void> => {
    if (from >= to) return;
    const lost = (holds: string) =>
      new StoreDataError(
        'history_lost',
        `${topic}/${partition} holds ${holds}, not ${from} to ${to}`,
      );
    const log = (await bounds()).get(partition);
    if (log === undefined) throw lost('nothing');
    if (from < log.start || to > log.end) throw lost(`${log.start} to ${log.end}`);
    for (let next = from; next < to;) {
      const wanted = { from: next, bytes: MAX_BYTES, atEnd: false };
      const answer = await fetcher.read(partition, wanted, AbortSignal.timeout(SILENCE_MS));
      if (answer === null) {
        throw unavailable(
          `no message of ${topic}/${partition} from offset ${next} within ${SILENCE_MS / 1_000} s`,
        );
      }
      if (answer.isOutside) throw lost(`another part now, up to ${answer.end}`);
      const messages = answer.messages.filter((message) => isWithin(message, next, to));
      if (messages.length > 0) await take(messages);
      const open = messages.find(({ unreadable }) => unreadable?.to === null)?.unreadable;
      const endIsKnown = open === undefined || next + 1 >= to;
      next = endIsKnown ? answer.next : await behind(partition, open);
    }
  };

  return { bounds, read };
}

/** Whether a message, or an offset of its placeholder, lies in a part. */
function isWithin({ offset, unreadable }: LogMessage, from: number, to: number): boolean {
  return (unreadable?.to ?? Number(offset)) >= from && (unreadable?.from ?? Number(offset)) < to;
}
