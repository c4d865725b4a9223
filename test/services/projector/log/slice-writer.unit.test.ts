import { MongoServerError } from 'mongodb';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { reportTo } from '#projector/log/partition.ts';
import { createSliceWriter } from '#projector/log/slice-writer.ts';
import { createMetrics } from '#projector/metrics.ts';
import type { Claim } from '#shared/projection/slice/checkpoint.ts';
import { systemClock } from '#shared/waiting.ts';
import { kafkaMessage } from '#test/events.ts';

const DUPLICATE = new MongoServerError({ message: 'E11000', code: 11000 });
const OVERLOADED = new MongoServerError({
  message: 'shed',
  code: 462,
  errorLabels: ['SystemOverloadedError'],
});

interface Case {
  error: Error;
  offsets?: number[];
  store?: { givesUp?: boolean; skippedTo?: () => Promise<number> };
  outcomes: string[];
  /** The offsets that became dead letters. */
  givenUp?: string[];
}

const failed = (times: number) => Array<string>(times).fill('failed');

describe('a message whose transaction fails again and again', () => {
  it.each<[string, Case]>([
    [
      'becomes a dead letter after three attempts alone, and another one behind a pause',
      {
        error: DUPLICATE,
        outcomes: [...failed(2), 'suspect', 'suspect', 'written'],
        givenUp: ['5'],
      },
    ],
    [
      'is not suspected while it fails together with others',
      { error: DUPLICATE, offsets: [5, 6], outcomes: failed(20) },
    ],
    ['waits as long as MongoDB is overloaded', { error: OVERLOADED, outcomes: failed(50) }],
    [
      'waits for ever if it is of access',
      {
        error: DUPLICATE,
        store: { givesUp: false },
        outcomes: [...failed(2), ...Array<string>(48).fill('suspect')],
      },
    ],
    [
      'becomes a dead letter, even if it is of access, once an operator skips it',
      {
        error: DUPLICATE,
        store: { givesUp: false, skippedTo: () => Promise.resolve(5) },
        outcomes: [...failed(1), 'written'],
        givenUp: ['5'],
      },
    ],
  ])('%s', async (_what, { error, offsets = [5], store, outcomes, givenUp = [] }) => {
    const gone: string[] = [];
    const unused = () => Promise.reject(new Error('unused'));
    const writer = createSliceWriter({
      limits: { events: 100, bytes: 1_000_000 },
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      report: reportTo(createMetrics(), { topic: 't', partition: 0, generation: 'g1' }),
      store: {
        claim: unused,
        isHere: unused,
        commit: () => Promise.reject(error),
        giveUp: async (_claim, { messages }) =>
          void gone.push(...messages.map(({ offset }) => offset)),
        givesUp: true,
        skippedTo: () => Promise.resolve(null),
        ...store,
      },
    });
    const messages = offsets.map((offset) => kafkaMessage('x', offset));
    const slice = { topic: 't', partition: 0, messages, next: 7 };
    for (const [at, outcome] of outcomes.entries()) {
      expect([at, gone]).toEqual([at, []]);
      expect([at, await writer.write({ position: 0 } as Claim, slice)]).toEqual([at, outcome]);
    }
    expect(gone).toEqual(givenUp);
  });
});
