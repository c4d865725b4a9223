/**
 * The reports of a partition to the scheduler and to alerts. `test/simulation` covers the rest of
 * its loop.
 */
import type { KafkaMessage } from 'kafkajs';
import type { ClientSession } from 'mongodb';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startLoop } from '#projector/log/loop.ts';
import { reportTo } from '#projector/log/partition.ts';
import { createMetrics } from '#projector/metrics.ts';
import type { Answer } from '#shared/kafka/fetcher.ts';
import { type Claim, identityOf, type LastMessage } from '#shared/projection/slice/checkpoint.ts';
import { type Clock, systemClock } from '#shared/waiting.ts';
import { kafkaMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';

const LOG_ENDS = 1_000;

/** A loop that follows a log, and its reports. */
async function following(
  apply: () => Promise<void>,
  logStart = () => 0,
  clock: Clock = systemClock,
) {
  const metrics = createMetrics();
  const lags: (number | null)[] = [];
  let [position, lastMessage]: [number, LastMessage | null] = [0, null];
  /** Answers that the log has. */
  const answers: Answer[] = [];
  let come = () => undefined as void;
  const session = { endSession: () => Promise.resolve() } as unknown as ClientSession;
  const partition = startLoop({
    topic: 't',
    partition: 0,
    limits: { events: 10, bytes: 1_000_000 },
    readBytes: 1_000_000,
    confirmed: () => Promise.resolve(),
    logger: pino({ level: 'silent' }),
    clock,
    random: () => 0,
    recoveryHint: '',
    log: {
      bounds: async () => ({ start: logStart(), end: LOG_ENDS }),
      read: async (_, signal) => {
        while (answers.length === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            come = resolve;
            signal.addEventListener('abort', () => resolve());
          });
        }
        return answers.shift() ?? null;
      },
    },
    store: {
      skippedTo: () => Promise.resolve(null),
      claim: () =>
        Promise.resolve({ id: 't/0', owner: 'me', session, position, lastMessage } as Claim),
      isHere: () => Promise.resolve(true),
      commit: async (claim, { next, messages }) => {
        await apply();
        claim.position = position = next;
        claim.lastMessage = lastMessage = identityOf(messages.at(-1) as KafkaMessage);
      },
      giveUp: () => Promise.reject(new Error('nothing is given up here')),
      givesUp: true,
    },
    permits: {
      next: () => Promise.resolve({ events: Infinity, end: () => undefined }),
      noteLag: (lag) => lags.push(lag),
    },
    report: reportTo(metrics, { topic: 't', partition: 0, generation: 'g1' }),
    prepare: () => undefined,
  });
  onTestFinished(() => partition.revoke());
  await eventually('it follows the log', () => lags.length > 0);
  const take = (answer: Answer) => {
    answers.push(answer);
    come();
  };
  return { partition, take, lags, metrics };
}

/** An answer with ten new messages from an offset on, and the message before them. */
function batch(next: number): Answer {
  const first = Math.max(0, next - 1);
  const messages = Array.from({ length: next + 10 - first }, (_, at) =>
    kafkaMessage('x', first + at),
  );
  return { messages, next: next + 10, end: LOG_ENDS, isOutside: false };
}

function isDown(): never {
  throw new Error('down');
}

it.each([
  ['whose checkpoint cannot be claimed', isDown],
  ['that is stopped', () => LOG_ENDS - 1],
])('the scheduler ignores the backlog of a partition %s', async (_, logStartThen) => {
  let logStart = () => 0;
  const apply = () => {
    logStart = logStartThen;
    return Promise.reject(new Error('down'));
  };
  const { take, lags } = await following(apply, () => logStart());
  expect(lags).toEqual([LOG_ENDS]);
  take(batch(0));
  await eventually('it says so', () => lags.at(-1) === null);
});

it('an idle or applying partition reports progress, a hanging or revoked one does not', async () => {
  const gate = Promise.withResolvers<void>();
  // Ten seconds pass in 0.1.
  const sleep: Clock['sleep'] = (milliseconds, signal) =>
    systemClock.sleep(milliseconds / 100, signal);
  const clock = { ...systemClock, sleep };
  const { partition, take, metrics } = await following(() => gate.promise, undefined, clock);
  const forget = () => metrics.progress.set({ topic: 't', partition: 0, generation: 'g1' }, 0);
  const isShown = async () => (await metrics.progress.get()).values[0]?.value !== 0;
  forget();
  await eventually('what is idle progresses', isShown);
  take(batch(0));
  forget();
  await systemClock.sleep(400);
  expect(await isShown()).toBe(false);
  gate.resolve();
  await eventually('what is applied is progress', isShown);
  take(batch(10));
  partition.revoke();
  forget();
  await partition.ended;
  expect(await isShown()).toBe(false);
});
