/** `publish`: feeds events of one's own, from a file or a pipe. */
import { Command } from '@commander-js/extra-typings';
import type { Producer, RecordMetadata } from '#shared/kafka/client.ts';
import { asFailure, refusalOf, StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { checkTopics } from '#shared/kafka/topics.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption } from '../options.ts';
import { formatDuration } from '../output/durations.ts';
import { markFailed, printResult, remark } from '../output/print.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { describeProgress, type Input, openInput } from '../publish/input.ts';
import { type Counts, noCounts, publishStream } from '../publish/publish-stream.ts';
import { stopSignal } from '../stop-signal.ts';

export const publishCommand = () =>
  new Command('publish')
    .description('Send events to Kafka, from a file of NDJSON or, for "-", from standard input')
    .argument('<file>', 'the file, or "-"')
    .addOption(environmentOption('environment to feed; needed where there are several'))
    .option('--check', 'send nothing: tell which lines are no events')
    .addOption(jsonOption())
    .action(async (file, flags) => {
      if (flags.check) return check(file, flags);
      return withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const input = await openInput(file);
        // Before anything is read: nobody shall write lines for a Kafka that is away.
        await servers.kafkaOf(changesTopic(environment)).producer();
        await run(servers, input, { file, environment, json: flags.json });
      });
    });

interface Flags {
  file: string;
  environment: string;
  json: true | undefined;
}

/** Tells every line of a file that is no event, without any server. */
async function check(file: string, flags: { json?: true | undefined }): Promise<void> {
  const input = await openInput(file);
  const counts = noCounts();
  // It takes every event and does nothing with it.
  const producer = { sendBatch: async () => [] };
  await stream(input, producer, counts, new AbortController().signal, { environment: 'none', ...flags });
  const { sent: valid, rejected, blank, bytes } = counts;
  printResult(flags, { valid, rejected, blank, bytes }, `${valid} are events, ${rejected} are not`);
  if (rejected > 0) markFailed();
}

async function run(servers: Servers, input: Input, flags: Flags): Promise<void> {
  const counts = noCounts();
  const stopping = stopSignal();
  // Else one that brings nothing would be waited for.
  stopping.addEventListener('abort', () => input.stream.destroy());
  const producer = producerOf(servers);
  const startedAt = performance.now();
  const stopped = () => `stopped after line ${counts.doneUpToLine}`;
  try {
    await stream(input, producer, counts, stopping, flags);
  } catch (error) {
    report(counts, performance.now() - startedAt, flags);
    const { code, message } = asFailure(error);
    throw new StoreDataError(code, `${stopped()}: ${message}; ${howToGoOn(flags.file, counts)}`, {
      cause: error,
    });
  }
  report(counts, performance.now() - startedAt, flags);
  if (stopping.aborted) remark(`${stopped()}; ${howToGoOn(flags.file, counts)}`);
  if (stopping.aborted || counts.rejected > 0) markFailed();
}

/** Sends each message to the Kafka that has its topic. A topic is checked before its first message: our user may be allowed no other. */
function producerOf(servers: Servers): Pick<Producer, 'sendBatch'> {
  const checked = new Set<string>();
  return {
    async sendBatch({ topicMessages = [], ...options }) {
      const sent: RecordMetadata[] = [];
      for (const [kafka, messages] of Map.groupBy(topicMessages, ({ topic }) => servers.kafkaOf(topic))) {
        const unchecked = messages.map(({ topic }) => topic).filter((topic) => !checked.has(topic));
        // Whoever only publishes need not see a topic's settings.
        if (unchecked.length > 0) await checkTopics(await kafka.admin(), unchecked, () => undefined);
        for (const topic of unchecked) checked.add(topic);
        const producer = await kafka.producer();
        sent.push(
          ...(await producer.sendBatch({ ...options, topicMessages: messages }).catch(naming(messages))),
        );
      }
      return sent;
    },
  };
}

/** Names the topics where they are refused: kafkajs does not. */
function naming(messages: readonly { topic: string }[]): (error: unknown) => never {
  return (error) => {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    const topics = messages.map(({ topic }) => topic).join(', ');
    throw new StoreDataError('not_authorized', `${refusal}; sent to ${topics}`, { cause: error });
  };
}

/** Publishes, and shows how far it is. */
async function stream(
  input: Input,
  producer: Pick<Producer, 'sendBatch'>,
  counts: Counts,
  signal: AbortSignal,
  { environment, json }: { environment: string; json?: true | undefined },
): Promise<void> {
  const startedAt = performance.now();
  const progress = new ProgressLine(process.stderr);
  const show = () => progress.show(describeProgress(counts, input.totalBytes, performance.now() - startedAt));
  const timer = setInterval(show, progress.everyMs);
  try {
    await publishStream({
      input: input.stream,
      producer,
      environment,
      // By which a job's trace goes on in the programs that it runs.
      traceparent: process.env['TRACEPARENT'] || undefined,
      signal,
      counts,
      rejected: (line, { reason, detail }) =>
        progress.say(json ? JSON.stringify({ line, reason, detail }) : `line ${line}: ${reason}: ${detail}`),
    });
  } finally {
    clearInterval(timer);
    progress.clear();
  }
}

function report(counts: Counts, elapsedMs: number, flags: Flags): void {
  const { environment } = flags;
  const { sent, rejected, blank, bytes } = counts;
  const rate = Math.round((sent * 1_000) / Math.max(1, elapsedMs));
  printResult(
    flags,
    { environment, sent, rejected, blank, bytes, seconds: Math.round(elapsedMs) / 1_000 },
    `sent ${sent}, rejected ${rejected}, took ${formatDuration(elapsedMs)} (${rate} events/s)`,
  );
}

function howToGoOn(file: string, { doneUpToLine }: Counts): string {
  const source = file === '-' ? 'the same input' : file;
  return `the rest begins with line ${doneUpToLine + 1} of ${source} (an event sent twice changes nothing)`;
}
