/** What the loop gets of what was read ahead. */
import { expect, it } from 'vitest';
import type { Answer } from '#shared/kafka/fetcher.ts';
import { systemClock } from '#shared/waiting.ts';
import { createContinuity } from '#projector/log/continuity.ts';
import { createFeed } from '#projector/log/feed.ts';
import { kafkaMessage } from '#test/events.ts';

const LOG_ENDS = 100;

/** A feed from the beginning of a log, whose reads resolve by hand. */
function feeding() {
  const reads: { from: number; answer: (count: number) => void }[] = [];
  const prepared: number[] = [];
  const log = {
    bounds: async () => ({ start: 0, end: LOG_ENDS }),
    read: ({ from }: { from: number }, signal: AbortSignal) =>
      new Promise<Answer | null>((resolve) => {
        signal.addEventListener('abort', () => resolve(null));
        const answer = (count: number) => {
          const messages = Array.from({ length: count }, (_, at) => kafkaMessage('x', from + at));
          resolve({ messages, next: from + count, end: LOG_ENDS, isOutside: false });
        };
        reads.push({ from, answer });
      }),
  };
  const prepare = ({ length }: readonly unknown[]) => prepared.push(length);
  return {
    feed: createFeed(log, createContinuity(null, 0, 1_000), systemClock, prepare),
    reads,
    prepared,
  };
}

it('a feed reads ahead while the loop writes, from the last message on, and prepares that', async () => {
  const { feed, reads, prepared } = feeding();
  const first = feed.next(1_000);
  reads[0]?.answer(3);
  expect(await first).toMatchObject({ kind: 'take', taken: { next: 3 } });
  expect(reads[1]?.from).toBe(2);
  reads[1]?.answer(4);
  await systemClock.sleep(5);
  expect(await feed.next(1_000)).toMatchObject({ kind: 'take', taken: { next: 6 } });
  expect(prepared).toEqual([3]);
});

it('a feed keeps what comes after a quiet time for the next call', async () => {
  const { feed, reads } = feeding();
  expect([await feed.next(1), feed.isEmpty]).toEqual([null, true]);
  reads[0]?.answer(3);
  await systemClock.sleep(5);
  expect(feed.isEmpty).toBe(false);
  expect(await feed.next(1_000)).toMatchObject({ kind: 'take', taken: { next: 3 } });
  expect(reads).toHaveLength(2);
});

it('a feed takes nothing of a read that was closed, also if it was answered in the same moment', async () => {
  const { feed, reads } = feeding();
  expect(await feed.next(1)).toBeNull();
  reads[0]?.answer(3);
  feed.close();
  const next = feed.next(1_000);
  expect(reads[1]?.from).toBe(0);
  reads[1]?.answer(2);
  expect(await next).toMatchObject({ kind: 'take', taken: { next: 2 } });
});
