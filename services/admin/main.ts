/** The process of the operators' command line, `npm run store-data -- …`. */
import { describeError, hasCode } from '#shared/errors.ts';
import { fail } from './output.ts';
import { exitCodeOf, runProgram } from './program.ts';

// kafkajs passes negative delays to timers, which an operator cannot change.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') fail('warning', describeError(warning));
});
process.stdout.on('error', (error) => {
  // `store-data … | head` closes our output.
  if (hasCode(error, 'EPIPE')) process.exit(0);
  fail('unexpected', `the output cannot be written: ${error.message}`);
  process.exit(1);
});
process.on('uncaughtException', (error) => process.exit(exitCodeOf(error)));

const code = await runProgram(process.argv.slice(2));
// A pipe takes 64 KiB at once, and an exit loses the rest.
await new Promise((resolve) => process.stdout.write('', resolve));
process.exit(code);
