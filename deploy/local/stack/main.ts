// Runs the local stack alone in the foreground, for work on a service: prints how to reach it, ends on a signal.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { StackError } from './errors.ts';
import { startStack } from './stack.ts';
import type { Stack } from './stack.ts';

interface Flags {
  json?: true;
  data?: string;
  keep?: true;
}

const command = new Command('node deploy/local/stack/main.ts')
  .description(
    'Starts Kafka, MongoDB and Redis, prints how to reach them, and ends them on Ctrl-C or SIGTERM.',
  )
  .option('--json', 'print one line of JSON instead of export lines, with process ids')
  .option('--data <folder>', 'folder for data and logs (default: a temporary one)')
  .option('--keep', 'keep the data in --data, and begin with what is there')
  .action(run);

await command.parseAsync();

async function run(flags: Flags): Promise<void> {
  if (flags.keep === true && flags.data === undefined) command.error('--keep needs --data <folder>');
  const asked = listenForSignals();
  const dataFolder = flags.data ?? mkdtempSync(join(tmpdir(), 'store-data-stack-'));
  const stack = await startOrExit(dataFolder, flags.keep === true);
  // Before a reader of what is printed can answer with a signal.
  const signal = asked();
  print(stack, flags.json === true);
  const failure = await Promise.race([signal, stack.failed]);
  if (failure !== undefined) {
    console.error(failure.message);
    process.exitCode = 1;
  }
  await stack.stop();
}

/**
 * A signal ends this process at once, and with it all that was started, unless the returned function has been called
 * and waits for one: then the first ends in order, and only the next one at once. The listeners are never exchanged,
 * since a signal that comes at that moment would be lost.
 */
function listenForSignals(): () => Promise<undefined> {
  let inOrder: (() => void) | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (inOrder === undefined) process.exit(signal === 'SIGINT' ? 130 : 143);
      inOrder();
      inOrder = undefined;
    });
  }
  return () =>
    new Promise((resolve) => {
      inOrder = () => resolve(undefined);
    });
}

async function startOrExit(dataFolder: string, keepData: boolean): Promise<Stack> {
  try {
    return await startStack({ dataFolder, keepData, log: (line) => console.error(line) });
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    console.error(error.message);
    return process.exit(1);
  }
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
