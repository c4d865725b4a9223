/** `publish`: feeds events of one's own, from a file or a pipe. */
import { Command } from '@commander-js/extra-typings';
import type { Producer, RecordMetadata } from '#shared/kafka/client.ts';
import { asFailure, refusalOf, StoreDataError, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { checkTopics } from '#shared/kafka/topics.ts';
import { inEnvironment, type Servers } from '../connection/servers.ts';
import { environmentOption, jsonOption } from '../options.ts';
import { formatDuration, ProgressLine, stopSignal, formatBytes } from '../output/terminal.ts';
import { type JsonFlag, markFailed, printResult, remark } from '../output/print.ts';
import { type Counts, noCounts, publishStream } from '../publish/publish-stream.ts';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';

export const publishCommand = () =>
  new Command('publish')
    .description('Send events to Kafka, from a file of NDJSON or, for "-", from standard input')
    .argument('<file>', 'the file, or "-"')
    .addOption(environmentOption('environment to feed; needed where there are several'))
    .option('--check', 'send nothing: tell which lines are no events')
    .addOption(jsonOption())
    .action(async (file, flags) => {
      if (flags.check) return check(file, flags);
      return inEnvironment(flags, async (servers, environment) => {
        const input = await openInput(file);
        // Before anything is read: nobody shall write lines for a Kafka that is away.
        await servers.kafkaOf(changesTopic(environment)).producer();
        await run(servers, file, input, environment, flags);
      });
    });

/** Reports every line of a file that is no event, without any server. */
async function check(file: string, flags: JsonFlag): Promise<void> {
  const counts = noCounts();
  // It takes every event and does nothing with it.
  const producer = { sendBatch: async () => [] };
  await stream(await openInput(file), producer, counts, new AbortController().signal, 'none', flags);
  const { sent: valid, rejected, blank, bytes } = counts;
  printResult(flags, { valid, rejected, blank, bytes }, `${valid} are events, ${rejected} are not`);
  if (rejected > 0) markFailed();
}

async function run(
  servers: Servers,
  file: string,
  input: Input,
  environment: string,
  flags: JsonFlag,
): Promise<void> {
  const counts = noCounts();
  const stopping = stopSignal();
  // Else one that brings nothing would be waited for.
  stopping.addEventListener('abort', () => input.stream.destroy());
  const startedAt = performance.now();
  const stopped = (why = '') => {
    const next = `line ${counts.doneUpToLine + 1} of ${file === '-' ? 'the same input' : file}`;
    const line = `stopped after line ${counts.doneUpToLine}${why}`;
    return `${line}; the rest begins with ${next} (an event sent twice changes nothing)`;
  };
  try {
    await stream(input, producerOf(servers), counts, stopping, environment, flags);
  } catch (error) {
    report(counts, performance.now() - startedAt, environment, flags);
    const { code, message } = asFailure(error);
    throw new StoreDataError(code, stopped(`: ${message}`), { cause: error });
  }
  report(counts, performance.now() - startedAt, environment, flags);
  if (stopping.aborted) remark(stopped());
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
  environment: string,
  { json }: JsonFlag,
): Promise<void> {
  const startedAt = performance.now();
  const progress = new ProgressLine();
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

function report(counts: Counts, elapsedMs: number, environment: string, flags: JsonFlag): void {
  const { sent, rejected, blank, bytes } = counts;
  const rate = Math.round((sent * 1_000) / Math.max(1, elapsedMs));
  printResult(
    flags,
    { environment, sent, rejected, blank, bytes, seconds: Math.round(elapsedMs) / 1_000 },
    `sent ${sent}, rejected ${rejected}, took ${formatDuration(elapsedMs)} (${rate} events/s)`,
  );
}

export interface Input {
  stream: Readable;
  totalBytes: number | null;
}

const CHUNK_BYTES = 262_144;

/** @throws {StoreDataError} `not_found` when the file cannot be read, in words. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') {
    if (process.stdin.isTTY) remark('reading events from the terminal, one a line; Ctrl-D ends');
    return { stream: process.stdin, totalBytes: null };
  }
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw notFound(`${path} is a folder, not a file`);
    const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    await once(stream, 'open');
    // A pipe has no size.
    return { stream, totalBytes: found.isFile() ? found.size : null };
  } catch (error) {
    if (error instanceof StoreDataError) throw error;
    throw notFound(`${path} cannot be read: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  return typeof code === 'string' ? code : 'unknown error';
}

/** One line: what is done, how fast, and how long it will take. @param totalBytes of the whole input; `null` where nobody knows. */
export function describeProgress(counts: Counts, totalBytes: number | null, elapsedMs: number): string {
  const { sent, rejected, bytes } = counts;
  const rate = elapsedMs === 0 ? 0 : Math.round((sent * 1_000) / elapsedMs);
  const parts = [`sent ${sent}`, `rejected ${rejected}`, `${rate} events/s`];
  if (totalBytes !== null && totalBytes > 0 && bytes > 0) {
    const share = Math.min(1, bytes / totalBytes);
    const left = formatDuration((elapsedMs * (1 - share)) / share);
    parts.push(`${Math.floor(share * 100)} % of ${formatBytes(totalBytes)}`, `${left} left`);
  } else {
    parts.push(formatBytes(bytes));
  }
  return parts.join(', ');
}
