import type { ClientSession } from 'mongodb';
import { MongoServerError } from 'mongodb';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { SliceWriter } from '#projector/log/slice-writer.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Claim } from '#shared/projection/slice/checkpoint.ts';
import { systemClock } from '#shared/waiting.ts';

const DUPLICATE = new MongoServerError({ message: 'E11000', code: 11000 });
const OVERLOADED = new MongoServerError({
  message: 'shed',
  code: 462,
  errorLabels: ['SystemOverloadedError'],
});

const message = (offset: number) =>
  ({
    offset: String(offset),
    timestamp: '0',
    key: null,
    value: Buffer.from('x'),
    headers: {},
  }) as LogMessage;
const slice = (...offsets: number[]) => {
  const next = (offsets.at(-1) ?? 0) + 1;
  return { topic: 't', partition: 0, messages: offsets.map(message), next };
};
const CLAIM = {
  id: 't/0',
  owner: 'me',
  session: {} as ClientSession,
  position: 0,
  lastMessage: null,
} as Claim;

/** A writer whose commits fail with `error`; `givenUp` has the offsets that became dead letters. */
function makeWriter(error: Error, { givesUp = true, skipped = null as number | null } = {}) {
  const givenUp: string[] = [];
  const unused = async () => {
    throw new Error('unused');
  };
  const writer = new SliceWriter({
    limits: { events: 100, bytes: 1_000_000 },
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    report: {
      lag: () => undefined,
      bounds: () => undefined,
      progress: () => undefined,
      stopped: () => undefined,
      failing: () => undefined,
      transaction: () => undefined,
      end: () => undefined,
    },
    store: {
      claim: unused,
      isHere: unused,
      commit: async () => {
        throw error;
      },
      giveUp: async (_claim, { messages }) =>
        void givenUp.push(...messages.map(({ offset }) => offset)),
      givesUp,
      skippedTo: async () => skipped,
    },
  });
  const attempts = async (times: number, ...offsets: number[]) => {
    const outcomes: string[] = [];
    for (let time = 0; time < times; time += 1)
      outcomes.push(await writer.write(CLAIM, slice(...offsets)));
    return outcomes;
  };
  return { attempts, givenUp };
}

describe('a message whose transaction fails again and again', () => {
  it('becomes a dead letter after three attempts alone, and another one behind a pause', async () => {
    const { attempts, givenUp } = makeWriter(DUPLICATE);
    expect(await attempts(4, 5)).toEqual(['failed', 'failed', 'suspect', 'suspect']);
    expect(givenUp).toEqual([]);
    expect(await attempts(1, 5)).toEqual(['written']);
    expect(givenUp).toEqual(['5']);
  });

  it('is not suspected while it fails together with others', async () => {
    const { attempts, givenUp } = makeWriter(DUPLICATE);
    expect(await attempts(20, 5, 6)).not.toContain('suspect');
    expect(givenUp).toEqual([]);
  });

  it('waits as long as MongoDB is overloaded', async () => {
    const { attempts, givenUp } = makeWriter(OVERLOADED);
    expect(new Set(await attempts(50, 5))).toEqual(new Set(['failed']));
    expect(givenUp).toEqual([]);
  });

  it('waits for ever if it is of access, until an operator skips it', async () => {
    const waiting = makeWriter(DUPLICATE, { givesUp: false });
    expect(await waiting.attempts(50, 5)).not.toContain('written');
    const skipped = makeWriter(DUPLICATE, { givesUp: false, skipped: 5 });
    expect(await skipped.attempts(2, 5)).toEqual(['failed', 'written']);
    expect(skipped.givenUp).toEqual(['5']);
  });
});
