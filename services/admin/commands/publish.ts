/** `publish`: feeds events of one's own, from a file or a pipe. */
import { Command } from '@commander-js/extra-typings';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics } from '#shared/kafka.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption } from '../options.ts';
import { formatDuration } from '../output/durations.ts';
import { markFailed, printResult } from '../output/print.ts';
import { checkEvents } from '../publish/check.ts';
import { type Input, openInput } from '../publish/input.ts';
import { Progress } from '../publish/progress.ts';
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
      if (flags.check) return checkEvents(file, flags);
      return withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const input = await openInput(file);
        await checkTopics(await servers.kafkaAdmin(), [changesTopic(environment), accessTopic(environment)]);
        await run(servers, input, { file, environment, json: flags.json });
      });
    });

interface Flags {
  file: string;
  environment: string;
  json: true | undefined;
}

async function run(servers: Servers, input: Input, flags: Flags): Promise<void> {
  const { file, environment, json } = flags;
  const counts = noCounts();
  const stopping = stopSignal();
  // Else one that brings nothing would be waited for.
  stopping.addEventListener('abort', () => input.stream.destroy());
  const producer = await servers.producer();
  const progress = new Progress({ output: process.stderr, counts, totalBytes: input.totalBytes });
  const startedAt = performance.now();
  try {
    await publishStream({
      input: input.stream,
      producer,
      environment,
      signal: stopping,
      counts,
      rejected: (line, { reason, detail }) =>
        progress.say(json ? JSON.stringify({ line, reason, detail }) : `line ${line}: ${reason}: ${detail}`),
    });
  } catch (error) {
    progress.stop();
    report(counts, performance.now() - startedAt, flags);
    throw new StoreDataError(
      'environment_unavailable',
      `stopped after line ${counts.doneUpToLine}: ${describeError(error)}; ${howToGoOn(file, counts)}`,
      { cause: error },
    );
  }
  progress.stop();
  report(counts, performance.now() - startedAt, flags);
  if (stopping.aborted) {
    progress.say(`stopped after line ${counts.doneUpToLine}; ${howToGoOn(file, counts)}`);
    markFailed();
  }
  if (counts.rejected > 0) markFailed();
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
