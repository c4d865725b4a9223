import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { ChangeReader, decode } from '#shared/projection/pipeline/decode.ts';
import { MINIMAL } from '#test/changes.ts';
import { kafkaMessage } from '#test/events.ts';
import { times } from '#test/times.ts';

function message(index: number, over: object = {}): KafkaMessage {
  const data = { ...MINIMAL.category, ...over };
  return kafkaMessage(
    { entity: 'category', storeId: 's1', subject: `k${index}`, sequence: index, data },
    index,
  );
}

/** Enough turns of the event loop to read all messages ahead. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 1_000; turn += 1) await nextTurn();
}

/** Destroys the content of messages, so that only earlier reads succeed. */
function spoil(messages: readonly KafkaMessage[]): void {
  for (const one of messages) one.value = Buffer.from('{');
}

/** Makes each further read fail. */
function failing(one: KafkaMessage, why: string): void {
  const get = () => {
    throw new TypeError(why);
  };
  Object.defineProperty(one, 'value', { get });
}

describe('reading ahead', () => {
  const reader = new ChangeReader();

  it('leaves poison and other errors to the actual read', async () => {
    const [poison, broken] = [message(1), message(2)];
    spoil([poison]);
    failing(broken, 'a mistake');
    const [first, last] = [message(0), message(3)];
    void reader.readAhead([first, poison, broken, last]);
    await turns();
    expect(() => reader.read(poison)).toThrow('the message is not JSON');
    expect(() => reader.read(broken)).toThrow('a mistake');
    spoil([first, last]);
    expect([first, last].map((one) => reader.read(one).id)).toEqual(['k0', 'k3']);
  });

  it('keeps why a message is poison, so that it is not checked twice', async () => {
    const poison = message(1);
    spoil([poison]);
    void reader.readAhead([poison]);
    await turns();
    failing(poison, 'it is read again');
    for (let time = 0; time < 2; time += 1)
      expect(() => reader.read(poison)).toThrow('the message is not JSON');
  });

  it('allows repeated reads, for retried transactions', async () => {
    const one = message(3);
    void reader.readAhead([one]);
    await turns();
    const [first, second] = [reader.read(one), reader.read(one)];
    expect(first).toEqual({ ...second, documentIn: first.documentIn });
    const context = { offset: '-03:00', customerErased: false };
    expect(first.documentIn(context)).toEqual(second.documentIn(context));
  });
});

it('decoding yields the event loop between large messages', async () => {
  const large = times(8, (index) =>
    message(index, { position: 'wrong', unknown: 'x'.repeat(200_000) }),
  );
  let others = 0;
  const counting = setInterval(() => (others += 1), 0);
  const { rejected } = await decode(large);
  clearInterval(counting);
  expect(rejected).toHaveLength(8);
  expect(others).toBeGreaterThan(1);
});
