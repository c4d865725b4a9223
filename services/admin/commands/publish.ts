/** `publish`: feeds events of one's own, from a file or a pipe. */
import type { Command } from 'commander';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics } from '#shared/kafka.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption } from '../options.ts';
import { formatDuration } from '../output/durations.ts';
import { markFailed, print, printJson } from '../output/print.ts';
import { checkEvents } from '../publish/check.ts';
import { type Input, openInput } from '../publish/input.ts';
import { Progress } from '../publish/progress.ts';
import { type Counts, noCounts, publishStream } from '../publish/publish-stream.ts';

interface Flags {
  check?: true;
  environment?: string;
  json?: true;
}

const EXAMPLES = `
Each line is one CloudEvent in JSON; this one is broken to fit:

  {"specversion":"1.0","id":"1","source":"/pos",
   "type":"store-data.store.changed","subject":"s1","storeid":"s1",
   "sequence":"1","time":"2026-11-20T21:15:04Z",
   "data":{"name":"Pizzaria Bela","timezone_offset":"-03:00",
           "created_at":"2026-01-02T10:00:00Z"}}

Events of entities go to store-changes.<environment>, access_key and
store_access to store-access.<environment>, under their store's id, in the
order of the lines. A line that is no event is reported with its number and
the reason, and the rest is sent all the same; the exit code is then 1.
Texts and lists have bounds: docs/events.md. A record whose data names no
updated_at was updated at the event's time.

Examples:
  npm run store-data -- publish events.ndjson --check
  npm run store-data -- publish events.ndjson --environment sandbox
  zcat export.ndjson.gz | npm run store-data -- publish - -e production`;

export function addPublishCommand(program: Command): void {
  program
    .command('publish')
    .description('Send events to Kafka, from a file of NDJSON or, for "-", from standard input')
    .argument('<file>', 'the file, or "-"')
    .addOption(environmentOption('environment to feed; needed where there are several'))
    .option('--check', 'send nothing: tell which lines are no events')
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, flags: Flags) => {
      if (flags.check) return checkEvents(file, flags.json === true);
      return withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const input = await openInput(file);
        await checkTopics(await servers.kafkaAdmin(), [changesTopic(environment), accessTopic(environment)]);
        await run(servers, input, file, environment, flags.json === true);
      });
    });
}

async function run(
  servers: Servers,
  input: Input,
  file: string,
  environment: string,
  json: boolean,
): Promise<void> {
  const counts = noCounts();
  const stopping = stopOnSignal(input);
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
    report(counts, performance.now() - startedAt, environment, json);
    throw new StoreDataError(
      'environment_unavailable',
      `stopped after line ${counts.doneUpToLine}: ${describeError(error)}; ${howToGoOn(file, counts)}`,
      { cause: error },
    );
  }
  progress.stop();
  report(counts, performance.now() - startedAt, environment, json);
  if (stopping.aborted) {
    progress.say(`stopped after line ${counts.doneUpToLine}; ${howToGoOn(file, counts)}`);
    markFailed();
  }
  if (counts.rejected > 0) markFailed();
}

/** The first signal ends the work between two lines, a second one the process. */
function stopOnSignal({ stream }: Input): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      controller.abort();
      // A stream that brings nothing would be waited for.
      stream.destroy();
    });
  }
  return controller.signal;
}

function report(counts: Counts, elapsedMs: number, environment: string, json: boolean): void {
  const { sent, rejected, blank, bytes } = counts;
  if (json) {
    printJson({ environment, sent, rejected, blank, bytes, seconds: Math.round(elapsedMs) / 1_000 });
    return;
  }
  const rate = Math.round((sent * 1_000) / Math.max(1, elapsedMs));
  print(`sent ${sent}, rejected ${rejected}, took ${formatDuration(elapsedMs)} (${rate} events/s)`);
}

function howToGoOn(file: string, { doneUpToLine }: Counts): string {
  const source = file === '-' ? 'the same input' : file;
  return `the rest begins with line ${doneUpToLine + 1} of ${source} (an event sent twice changes nothing)`;
}
