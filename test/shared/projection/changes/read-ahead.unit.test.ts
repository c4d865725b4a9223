import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { encodeEvent } from '#shared/events/encode.ts';
import { ChangeReader } from '#shared/projection/changes/change-reader.ts';

function message(index: number): KafkaMessage {
  const { key, value, headers } = encodeEvent({
    entity: 'category',
    storeId: 's1',
    subject: `k${index}`,
    sequence: index,
    data: { name: 'Pizzas', position: 0, active: true },
    source: '/test',
  });
  return {
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers,
    timestamp: '0',
    attributes: 0,
    offset: String(index),
  };
}

/** So many turns of the event loop that everything is read ahead, or would be: some messages are in each. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 1_000; turn += 1) await nextTurn();
}

/** Takes what a message said when it was read, whatever it says now. */
function spoil(messages: readonly KafkaMessage[]): void {
  for (const one of messages) one.value = Buffer.from('{');
}

describe('reading ahead', () => {
  const reader = new ChangeReader();

  it('reads messages before they are taken, and each is taken as it was', async () => {
    const messages = Array.from({ length: 100 }, (_, index) => message(index));
    reader.readAhead(messages);
    await turns();
    spoil(messages);
    expect(messages.map((one) => reader.read(one).id)).toEqual(messages.map((_, index) => `k${index}`));
  });

  it('keeps what is poison until it is taken', async () => {
    const poison = message(1);
    spoil([poison]);
    const messages = [message(0), poison, message(2)];
    reader.readAhead(messages);
    await turns();
    expect(reader.read(messages[0] ?? poison).id).toBe('k0');
    expect(() => reader.read(poison)).toThrow('the message is not JSON');
    expect(reader.read(messages[2] ?? poison).id).toBe('k2');
  });

  it('reads what nobody read ahead', () => {
    expect(reader.read(message(7))).toMatchObject({ entity: 'category', id: 'k7', sequence: 7 });
  });

  it('ends when it is told', async () => {
    const messages = Array.from({ length: 100 }, (_, index) => message(index));
    reader.readAhead(messages)();
    await turns();
    spoil(messages);
    for (const one of messages) expect(() => reader.read(one)).toThrow('the message is not JSON');
  });

  it('reads again what was taken, as a transaction that is tried again does', async () => {
    const one = message(3);
    reader.readAhead([one]);
    await turns();
    const [first, second] = [reader.read(one), reader.read(one)];
    expect(first).toEqual({ ...second, documentIn: first.documentIn });
    const context = { offset: '-03:00', customerErased: false };
    expect(first.documentIn(context)).toEqual(second.documentIn(context));
  });
});
