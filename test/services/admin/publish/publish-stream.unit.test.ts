import type { ProducerBatch } from 'kafkajs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Counts, noCounts, publishStream } from '#admin/publish/publish-stream.ts';
import { orderLine } from './events.ts';

interface Sent {
  topic: string;
  key: string;
  id: string;
}

class TooLarge extends Error {
  readonly type = 'MESSAGE_TOO_LARGE';
}

/** A producer that takes its time, and refuses values above a size as a broker does. */
function fakeProducer(options: { maxBytes?: number; failAfter?: number } = {}) {
  const sent: Sent[] = [];
  let underWay = 0;
  let batches = 0;
  let mostUnderWay = 0;
  return {
    sent,
    mostUnderWay: () => mostUnderWay,
    sendBatch: async ({ topicMessages = [] }: ProducerBatch) => {
      underWay += 1;
      batches += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      try {
        await sleep(1);
        if (options.failAfter !== undefined && batches > options.failAfter) throw new Error('broker is gone');
        const values = topicMessages.flatMap(({ messages }) =>
          messages.map(({ value }) => value?.length ?? 0),
        );
        if (options.maxBytes !== undefined && values.some((bytes) => bytes > (options.maxBytes ?? 0))) {
          throw new Error('not sent', { cause: new TooLarge() });
        }
        for (const { topic, messages } of topicMessages) {
          for (const { key, value } of messages) {
            const { subject } = JSON.parse(String(value)) as { subject: string };
            sent.push({ topic, key: String(key), id: subject });
          }
        }
        return [];
      } finally {
        underWay -= 1;
      }
    },
  };
}

async function publish(
  input: string[],
  producer: ReturnType<typeof fakeProducer>,
  signal = new AbortController().signal,
): Promise<{ counts: Counts; rejected: string[]; error: unknown }> {
  const counts = noCounts();
  const rejected: string[] = [];
  async function* chunks() {
    for (const text of input) {
      await nextTurn();
      yield Buffer.from(text);
    }
  }
  const error: unknown = await publishStream({
    input: chunks(),
    producer,
    environment: 'test',
    signal,
    counts,
    rejected: (line, { reason }) => rejected.push(`${line} ${reason}`),
  }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { counts, rejected, error };
}

const orders = (count: number) => Array.from({ length: count }, (_, index) => `o${index}`);

describe('publishing a stream', () => {
  it('sends everything in order, one batch at a time, and reports every line that is no event', async () => {
    const producer = fakeProducer();
    const ids = orders(5_000);
    const lines = ids.map((id) => `${orderLine('s1', id)}\n`);
    lines.splice(2_500, 0, 'nonsense\n', '\n');
    const { counts, rejected } = await publish(lines, producer);
    expect(producer.sent.map(({ id }) => id)).toEqual(ids);
    expect(producer.mostUnderWay()).toBe(1);
    expect(rejected).toEqual(['2501 malformed']);
    expect(counts).toMatchObject({ sent: 5_000, rejected: 1, blank: 1, doneUpToLine: 5_002 });
  });

  it('sends each kind of event to its topic', async () => {
    const producer = fakeProducer();
    const block = orderLine('s2', 's2', {
      type: 'store-data.store_access.changed',
      data: { status: 'blocked' },
    });
    await publish([`${orderLine('s1', 'o1')}\n${block}`], producer);
    expect(producer.sent).toEqual([
      { topic: 'store-changes.test', key: 's1', id: 'o1' },
      { topic: 'store-access.test', key: 's2', id: 's2' },
    ]);
  });

  it('rejects only the message that its topic does not take', async () => {
    const producer = fakeProducer({ maxBytes: 2_000 });
    const lines = orders(9).map((id) =>
      orderLine('s1', id, id === 'o4' ? { padding: 'x'.repeat(3_000) } : {}),
    );
    const { counts, rejected } = await publish([lines.join('\n')], producer);
    expect(producer.sent.map(({ id }) => id)).toEqual(orders(9).filter((id) => id !== 'o4'));
    expect(rejected).toEqual(['5 too_large']);
    expect(counts).toMatchObject({ sent: 8, rejected: 1 });
  });

  it('says how far it came when Kafka fails', async () => {
    const producer = fakeProducer({ failAfter: 1 });
    const { counts, error } = await publish(
      [
        orders(5_000)
          .map((id) => orderLine('s1', id))
          .join('\n'),
      ],
      producer,
    );
    expect(String(error)).toContain('broker is gone');
    expect(counts.sent).toBe(producer.sent.length);
    expect(counts.doneUpToLine).toBe(counts.sent);
    expect(counts.sent).toBeLessThan(5_000);
  });

  it('stops between two lines when it is told to, and what it counted is sent', async () => {
    const producer = fakeProducer();
    const stop = new AbortController();
    const text = orders(20_000).map((id) => `${orderLine('s1', id)}\n`);
    setTimeout(() => stop.abort(), 20);
    const { counts, error } = await publish(text, producer, stop.signal);
    expect(error).toBeNull();
    expect(counts.sent).toBeLessThan(20_000);
    expect(counts.doneUpToLine).toBe(counts.sent);
    expect(producer.sent.map(({ id }) => id)).toEqual(orders(counts.sent));
  });
});
