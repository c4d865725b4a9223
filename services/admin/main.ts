/** The operators' command line, `npm run store-data -- …`: runs one command and turns what happened into an exit code. */
import { CommanderError } from 'commander';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { WrongUsage } from './options.ts';
import { printable } from './output/printable.ts';
import { createProgram } from './program.ts';

// kafkajs passes negative delays to timers; nobody at a terminal can do anything about that.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') fail(describeError(warning));
});
// `store-data … | head` ends our output, not our work.
process.stdout.on('error', () => process.exit(0));
process.on('uncaughtException', (error) => process.exit(exitCodeOf(error)));

try {
  await createProgram().parseAsync();
  await written();
  process.exit();
} catch (error) {
  const code = exitCodeOf(error);
  await written();
  process.exit(code);
}

/** A pipe takes 64 KiB at once, and what it has not taken is lost at the exit. */
function written(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', () => resolve());
  });
}

/** 1: it failed; 2: it was used wrongly. Says why, unless commander has already. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof StoreDataError) {
    fail(error.message);
    return error instanceof WrongUsage ? 2 : 1;
  }
  fail(
    isUnavailable(error)
      ? `a server cannot be reached: ${describeError(error)}`
      : `unexpected: ${describeError(error)}`,
  );
  return 1;
}

function fail(message: string): void {
  process.stderr.write(`store-data: ${message.split('\n').map(printable).join('\nstore-data: ')}\n`);
}
