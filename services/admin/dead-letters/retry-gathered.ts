/**
 * Retrying a letter that stands for many: the part of the log that it spans is read again. Good events in it change
 * nothing, since they are applied; what is still no event stays, and the letter then spans only that.
 */
import type { KafkaMessage } from 'kafkajs';
import { readAccessChange } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { unreadableBatch } from '#shared/kafka/unreadable.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import type { LogReader } from '../log/reader.ts';
import type { LetterBox } from './boxes.ts';
import { applyMessages, type RetryOptions, type RetryResult } from './retry.ts';
import type { LetterSummary } from './selection.ts';

/** Messages that are applied in one transaction. */
const AT_ONCE = 200;

/** What is left of the letter. */
interface Rest {
  count: number;
  first: number;
  last: number;
}

/** Retries one letter that stands for many. */
export async function retryGathered(
  options: RetryOptions,
  box: LetterBox,
  letter: LetterSummary,
  reader: LogReader,
): Promise<RetryResult> {
  const result: RetryResult = { applied: 0, outdated: 0, stayed: [], gone: [] };
  const last = letter.gathered?.last_offset ?? letter.offset;
  const isElsewhere = await lettersElsewhere(box, letter);
  const rest: Rest = { count: 0, first: last, last: letter.offset };
  await reader.read({ partition: letter.partition, from: letter.offset, to: last + 1 }, async (messages) => {
    for (let start = 0; start < messages.length; start += AT_ONCE) {
      const some = messages.slice(start, start + AT_ONCE);
      const good = some.filter((message) => isEvent(box, message));
      const bad = some.filter((message) => !good.includes(message)).flatMap(offsetsOf);
      if (good.length > 0) {
        const { applied, stayed } = await applyMessages(options, box, letter.partition, good);
        result.applied += applied;
        result.stayed.push(...stayed);
      }
      for (const offset of bad) {
        if (isElsewhere(offset)) continue;
        rest.count += 1;
        rest.first = Math.min(rest.first, offset);
        rest.last = Math.max(rest.last, offset);
      }
    }
  });
  await shrink(box, letter, rest, result);
  return result;
}

/** The offset of a message, or those of the batch that it stands for. */
function offsetsOf(message: KafkaMessage): number[] {
  const offset = Number(message.offset);
  const { from = offset, to } = unreadableBatch(message) ?? {};
  return Array.from({ length: (to ?? offset) - from + 1 }, (_, index) => from + index);
}

/** Whether a message of the partition has a letter of its own, or another one stands for it. */
async function lettersElsewhere(
  { letters }: LetterBox,
  { _id, topic, partition }: LetterSummary,
): Promise<(offset: number) => boolean> {
  const others = await letters
    .find(
      { topic, partition, _id: { $ne: _id } },
      { projection: { offset: 1, gathered: 1 }, batchSize: 10_000 },
    )
    .toArray();
  const single = new Set(others.filter((other) => other.gathered === undefined).map(({ offset }) => offset));
  const spans = others.flatMap(({ offset, gathered }) =>
    gathered === undefined ? [] : [{ from: offset, to: gathered.last_offset }],
  );
  return (offset) => single.has(offset) || spans.some(({ from, to }) => offset >= from && offset <= to);
}

function isEvent({ kind }: LetterBox, message: KafkaMessage): boolean {
  try {
    if (kind === 'access') readAccessChange(message);
    else readChange(message);
    return true;
  } catch (error) {
    if (error instanceof EventRejected) return false;
    throw error;
  }
}

/** Lets the letter span what is left, unless a projector added to it meanwhile. */
async function shrink(
  { letters }: LetterBox,
  { _id, reason, gathered }: LetterSummary,
  { count, first, last }: Rest,
  result: RetryResult,
): Promise<void> {
  const unchanged = { _id, gathered: gathered ?? { count: 0, last_offset: 0 } };
  const done =
    count === 0
      ? (await letters.deleteOne(unchanged)).deletedCount
      : (
          await letters.updateOne(unchanged, {
            $set: { offset: first, gathered: { count, last_offset: last } } satisfies Partial<DeadLetter>,
          })
        ).matchedCount;
  if (done === 0) result.stayed.push({ id: _id, reason, detail: 'more came meanwhile: retry it again' });
  else if (count > 0)
    result.stayed.push({ id: _id, reason, detail: `${count} messages are still no events` });
}
