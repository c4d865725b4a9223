/** The operators' command line, `npm run store-data -- …`, as a process: its warnings, its streams and its end. */
import { describeError } from '#shared/errors.ts';
import { fail } from './output.ts';
import { exitCodeOf, runProgram } from './program.ts';

// kafkajs passes negative delays to timers, which an operator cannot change.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') fail('warning', describeError(warning));
});
// `store-data … | head` ends our output, not our work.
process.stdout.on('error', () => process.exit(0));
process.on('uncaughtException', (error) => process.exit(exitCodeOf(error)));

const code = await runProgram(process.argv.slice(2));
await written();
process.exit(code);

/** A pipe takes 64 KiB at once, and what it has not taken is lost at the exit. */
function written(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', () => resolve());
  });
}
