import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { WithDeadline } from '#query/deadline.ts';
import { semaphore, type TakeSlot } from '#query/read/slots.ts';
import { streamOf } from '#query/read/streams.ts';

/** Several times as long as slow streams are safe. */
const LONG: WithDeadline = (read) => read(AbortSignal.timeout(500), 0);

it('ends an answer that its client does not read', async () => {
  const takeSlot = semaphore(1, 1, (read) => read(new AbortController().signal, 0));
  const portions = (async function* () {
    for (;;) yield Buffer.alloc(100_000);
  })();
  const slot = await takeSlot('a');
  const body = streamOf(slot, slot.release, portions);
  body.read(1);
  const ended = once(body, 'error');
  await takeSlot('b');
  expect(String(await ended)).toContain('too slowly');
});

/** Takes a slot for a stream whose client is so far behind. */
async function stream(takeSlot: TakeSlot, key: string, slownessMs: number) {
  const slot = await takeSlot(key);
  const cuts: Error[] = [];
  slot.stream = { slownessMs: () => slownessMs, destroy: (reason) => cuts.push(reason) };
  return { slot, cuts };
}

it('ends the slowest stream of another store for a waiter, and no other', async () => {
  const takeSlot = semaphore(3, 2, LONG);
  const slow = await stream(takeSlot, 'a', 2_000);
  const slowest = await stream(takeSlot, 'b', 3_000);
  const quick = await stream(takeSlot, 'c', 0);
  await takeSlot('d');
  expect([slow, slowest, quick].map(({ cuts }) => cuts.length)).toEqual([0, 1, 0]);
  // The slot went to the waiter; the end of the stream that had it frees no other.
  slowest.slot.release();
  await takeSlot('e');
  expect(slow.cuts).toHaveLength(1);
});

it('ends no stream whose client keeps up, none of the same store, and none for a store at its own limit', async () => {
  const takeSlot = semaphore(3, 2, LONG);
  const own = [await stream(takeSlot, 'a', 9_000), await stream(takeSlot, 'a', 9_000)];
  await stream(takeSlot, 'b', 0);
  await expect(takeSlot('a')).rejects.toThrow();
  expect(own.flatMap(({ cuts }) => cuts)).toEqual([]);

  const keepUp = semaphore(1, 1, LONG);
  const quick = await stream(keepUp, 'a', 900);
  await expect(keepUp('b')).rejects.toThrow();
  expect(quick.cuts).toEqual([]);
  const next = keepUp('b');
  quick.slot.release();
  expect((await next).key).toBe('b');
});
