// Runs the local stack alone in the foreground, for work on a service: prints how to reach it, ends
// on a signal.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { startStackOrExit, stopRequested } from '../start/signals.ts';
import { StackError } from './part.ts';
import type { Stack } from './stack.ts';

const command = new Command('npm run -s stack --')
  .description(
    'Starts Kafka, MongoDB and Redis, prints how to reach them, and ends them on Ctrl-C or SIGTERM.',
  )
  .option('--json', 'print one line of JSON instead of export lines, with process ids')
  .option('--data <folder>', 'folder for data and logs (default: a temporary one)')
  .option('--keep', 'keep the data in --data, and begin with what is there')
  .option(
    '--topology <single|cluster>',
    'one of each server (default), or a cluster of each: STACK_TOPOLOGY',
  )
  .parse();

await run(command.opts());

async function run({ json, data, keep, topology }: ReturnType<typeof command.opts>): Promise<void> {
  if (keep && data === undefined) command.error('--keep needs --data <folder>');
  const stop = stopRequested();
  const dataFolder = data ?? mkdtempSync(join(tmpdir(), 'store-data-stack-'));
  const log = (line: string) => console.error(line);
  const stack = await startStackOrExit(
    { dataFolder, keepData: keep === true, topology, log },
    stop,
  ).catch((error: unknown) => {
    if (!(error instanceof StackError)) throw error;
    console.error(error.message);
    return process.exit(1);
  });
  print(stack, json === true);
  const end = await Promise.race([stop, stack.failed]);
  if ('message' in end) {
    console.error(end.message);
    process.exitCode = 1;
  }
  await stack.stop();
}

/** On standard output, and nothing else there: `eval` and `jq` read it. */
function print({ kafkaBrokers, mongodbUri, redisUrl, pids }: Stack, asJson: boolean): void {
  if (asJson) {
    console.log(JSON.stringify({ kafkaBrokers, mongodbUri, redisUrl, pids }));
    return;
  }
  console.log(`export KAFKA_BROKERS='${kafkaBrokers.join(',')}'`);
  console.log(`export MONGODB_URI='${mongodbUri}'`);
  console.log(`export REDIS_URL='${redisUrl}'`);
}
