import type { KafkaMessage } from 'kafkajs';
import type { FetchedBatch } from '#projector/log/continuity.ts';
import { type ClientSession, MongoServerError } from 'mongodb';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { type Claim, identityOf, type LastMessage, type Slice } from '#shared/projection/slice/checkpoint.ts';
import type { PartitionStore } from '#projector/log/edges.ts';
import { PartitionLoop } from '#projector/log/loop.ts';
import { reportTo } from '#projector/log/partition.ts';
import { type Clock, systemClock } from '#shared/waiting.ts';
import { createMetrics, type ProjectorMetrics } from '#projector/metrics.ts';
import { eventually } from '#test/installation.ts';

const LOG_ENDS = 1_000;

/** What happens to a partition, in order. */
type Seen = string[];

type LogLine = Record<string, unknown>;

interface Given {
  apply: (slice: Slice) => Promise<void>;
  events?: number;
  whereIs?: PartitionStore['whereIs'];
  /** Where the log starts, asked before the partition goes on; fails like a server that is away. */
  logStart?: () => number;
  /** Up to where an operator skips. */
  skippedTo?: PartitionStore['skippedTo'];
  clock?: Clock;
}

interface Loaded {
  partition: PartitionLoop;
  /** Resolves once nothing is under way any longer. */
  ended: Promise<void>;
  seen: Seen;
  /** Where kafkajs was told to go on, one after the other. */
  fetched: number[];
  /** What it told of its backlog. */
  lags: (number | null)[];
  metrics: ProjectorMetrics;
  lines: LogLine[];
}

const running = new Set<PartitionLoop>();
afterEach(() => {
  for (const partition of running) partition.revoke();
  running.clear();
});

/** A partition whose checkpoint is a number here, and whose consumer notes what it is told. */
async function loaded({
  apply,
  events = 10,
  whereIs = () => Promise.resolve('here'),
  logStart = () => 0,
  skippedTo = () => Promise.resolve(null),
  clock = systemClock,
}: Given): Promise<Loaded> {
  const metrics = createMetrics();
  const lines: LogLine[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line) as LogLine) });
  const seen: Seen = [];
  const fetched: number[] = [];
  const lags: (number | null)[] = [];
  /** Where it was just told to go on. */
  let sought: number | null = null;
  let position = 0;
  let lastMessage: LastMessage | null = null;
  const session = { endSession: () => Promise.resolve() } as unknown as ClientSession;
  const move = (claim: Claim, { next, messages }: Slice) => {
    claim.position = position = next;
    claim.lastMessage = lastMessage = identityOf(messages.at(-1) as KafkaMessage);
  };
  const partition = new PartitionLoop({
    topic: 't',
    partition: 0,
    limits: { events, bytes: 1_000_000 },
    fencedPauseMs: 1,
    logger,
    clock,
    recoveryHint: '',
    log: {
      bounds: async () => ({ start: logStart(), end: LOG_ENDS }),
      pause: () => seen.push('pause'),
      resume: () => seen.push(sought === null ? 'resume' : `seek ${sought}`),
      seek: (offset) => {
        sought = offset;
        fetched.push(offset);
        queueMicrotask(() => (sought = null));
      },
    },
    store: {
      skippedTo,
      claim: () => Promise.resolve({ id: 't/0', owner: 'me', session, position, lastMessage } as Claim),
      whereIs,
      commit: async (claim, slice) => {
        await apply(slice);
        move(claim, slice);
        seen.push(`applied up to ${slice.next}`);
      },
      giveUp: (claim, slice) => {
        move(claim, slice);
        seen.push(`gave up ${slice.messages.map(({ offset }) => offset).join()}`);
        return Promise.resolve();
      },
    },
    permits: {
      next: () => Promise.resolve({ events: Infinity, end: () => undefined }),
      noteLag: (lag) => lags.push(lag),
    },
    report: reportTo(metrics, { topic: 't', partition: 0, generation: 'g1' }, () => undefined),
    prepare: () => undefined,
  });
  running.add(partition);
  expect(seen.splice(0)).toEqual(['pause']);
  const ended = partition.run();
  await eventually('it follows the log', () => partition.isFollowing);
  return { partition, ended, seen, fetched, lags, metrics, lines };
}

/** A batch as it is fetched: new messages from an offset on, and the one before them, of a log that ends somewhere. */
function batch(next: number, added: number, logEnds = LOG_ENDS): FetchedBatch {
  const first = Math.max(0, next - 1);
  const length = next - first + added;
  const messages = Array.from(
    { length },
    (_, index) => ({ offset: String(first + index), timestamp: '0', value: Buffer.from('x') }) as KafkaMessage,
  );
  return {
    highWatermark: String(logEnds),
    messages,
    firstOffset: () => String(first),
    lastOffset: () => String(first + length - 1),
  };
}

describe('a partition', () => {
  it('lets the next batch be fetched while one is applied, and pauses for what comes too early', async () => {
    const gate = Promise.withResolvers<void>();
    const { partition, seen } = await loaded({ apply: () => gate.promise });
    await partition.take(batch(0, 10));
    await partition.take(batch(10, 10));
    expect(seen).toEqual(['seek 0', 'pause']);
    gate.resolve();
    await eventually('both are applied', () => Promise.resolve(partition.position === 20));
    expect(seen).toEqual(['seek 0', 'pause', 'applied up to 10', 'resume', 'applied up to 20']);
  });

  it('lets nothing be fetched for a while where nothing waits, so that what comes meanwhile comes together', async () => {
    const gate = Promise.withResolvers<void>();
    const { partition, seen } = await loaded({ apply: () => gate.promise });
    const began = performance.now();
    const taken = partition.take(batch(0, 10, 10)).then(() => seen.push('taken'));
    setImmediate(gate.resolve);
    await taken;
    expect(seen).toEqual(['seek 0', 'applied up to 10', 'taken']);
    // Also where it was applied at once.
    expect(performance.now() - began).toBeGreaterThan(35);
  });

  it.each([
    [
      'while its checkpoint cannot be claimed',
      () => {
        throw new Error('down');
      },
    ],
    ['once it stopped', () => LOG_ENDS - 1],
  ])('is no backlog that others wait for %s', async (_, logStartThen) => {
    let logStart = () => 0;
    const apply = () => {
      logStart = logStartThen;
      return Promise.reject(new Error('down'));
    };
    const { partition, lags } = await loaded({ apply, logStart: () => logStart() });
    expect(lags).toEqual([LOG_ENDS]);
    await partition.take(batch(0, 10));
    await eventually('it says so', () => lags.at(-1) === null);
    partition.revoke();
  });

  it('applies a small slice first after an assignment, then larger ones', async () => {
    const { partition, seen } = await loaded({ apply: () => Promise.resolve(), events: 1_000 });
    await partition.take(batch(0, 140));
    await eventually('all is applied', () => Promise.resolve(partition.position === 140));
    expect(seen.slice(1)).toEqual([20, 60, 140].map((next) => `applied up to ${next}`));
  });

  it('does not pause for conflicts with other writers, however many come one after the other', async () => {
    let conflicts = 0;
    const { partition, seen } = await loaded({
      apply: ({ messages }) => {
        if (messages.length === 1 && conflicts >= 8) return Promise.resolve();
        conflicts += 1;
        return Promise.reject(new MongoServerError({ message: 'WriteConflict', code: 112 }));
      },
    });
    await partition.take(batch(0, 2));
    await eventually('both are applied', () => Promise.resolve(partition.position === 2));
    expect(conflicts).toBe(8);
    expect(seen).toEqual(['seek 0', 'applied up to 1', 'applied up to 2']);
  });

  describe('with a message whose transaction fails whatever is tried', () => {
    const failsAt = (offset: number, error: Error) => (slice: Slice) =>
      slice.messages.some((message) => Number(message.offset) === offset) ? Promise.reject(error) : Promise.resolve();
    const outage = new MongoServerError({ message: 'too long', code: 290 });
    const allAround3 = ['applied up to 3', 'gave up 3', 'applied up to 5'];
    const applyAll = async ({ partition, seen }: Loaded) => {
      await eventually('all is applied', async () => {
        const { position } = partition;
        if (partition.isFollowing) await partition.take(batch(position ?? 0, 5 - (position ?? 0), 5));
        return position === 5;
      });
      return seen.filter((one) => /gave up|applied up to [35]/.test(one));
    };

    it('gives it up after three attempts', async () => {
      const apply = failsAt(3, new TypeError('null'));
      expect(await applyAll(await loaded({ apply }))).toEqual(allAround3);
    });

    it('does not where a server may be the reason, unless an operator skips it', async () => {
      let isDecided = false;
      const asked: unknown[] = [];
      const given = await loaded({
        apply: failsAt(3, outage),
        skippedTo: async (what) => {
          asked.push(what);
          return isDecided ? 3 : null;
        },
      });
      const applied = applyAll(given);
      await eventually('it was asked for a decision several times', () => asked.length >= 5);
      expect(given.partition.position).toBe(3);
      isDecided = true;
      expect(await applied).toEqual(allAround3);
      const [message] = batch(3, 1).messages.slice(-1);
      const { digest } = identityOf(message as KafkaMessage);
      expect(new Set(asked.map((what) => JSON.stringify(what)))).toEqual(
        new Set([JSON.stringify({ from: 3, digest })]),
      );
    });
  });

  it('shows when it last made progress: what is idle still does, and what hangs or is lost does not', async () => {
    const gate = Promise.withResolvers<void>();
    // What takes it ten seconds takes it 0.1.
    const sleep: Clock['sleep'] = (milliseconds, signal) => systemClock.sleep(milliseconds / 100, signal);
    const { partition, ended, metrics } = await loaded({
      apply: () => gate.promise,
      clock: { ...systemClock, sleep },
    });
    const forget = () => metrics.progress.set({ topic: 't', partition: 0, generation: 'g1' }, 0);
    const isShown = async () => (await metrics.progress.get()).values[0]?.value !== 0;
    forget();
    await eventually('what is idle progresses', isShown);
    await partition.take(batch(0, 10));
    forget();
    await systemClock.sleep(400);
    expect(await isShown()).toBe(false);
    gate.resolve();
    await eventually('what is applied is progress', isShown);
    await partition.take(batch(10, 10));
    partition.revoke();
    forget();
    await ended;
    expect(await isShown()).toBe(false);
  });

  it('shows that it fails again and again though the database answers, and says so once', async () => {
    let attempts = 0;
    const { partition, metrics, lines } = await loaded({
      apply: () => {
        attempts += 1;
        // What takes too long, whatever its size.
        if (attempts <= 12) throw new MongoServerError({ message: 'too long', code: 290 });
        return Promise.resolve();
      },
    });
    const failing = async () => (await metrics.failing.get()).values[0]?.value ?? 0;
    const apply = async () => {
      if (partition.isFollowing) await partition.take(batch(0, 2, 2));
    };
    await eventually('five attempts have failed', async () => {
      await apply();
      return (await failing()) >= 5;
    });
    await eventually('it goes on', async () => {
      await apply();
      return partition.position === 2;
    });
    expect(await failing()).toBe(0);
    const said = lines.filter(({ msg }) => msg === 'transaction failed and is tried again');
    expect(said).toMatchObject([{ offset: 0, attempts: 1, error: 'MongoServerError: too long' }]);
  });
});
