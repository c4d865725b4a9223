/** The process of the operators' command line, `npm run store-data -- …`. */
import { describeError } from '#shared/errors.ts';
import { fail } from './output.ts';
import { exitCodeOf, runProgram } from './program.ts';

// kafkajs passes negative delays to timers, which an operator cannot change.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') fail('warning', describeError(warning));
});
// `store-data … | head` closes our output.
process.stdout.on('error', () => process.exit(0));
process.on('uncaughtException', (error) => process.exit(exitCodeOf(error)));

const code = await runProgram(process.argv.slice(2));
// A pipe takes 64 KiB at once, and an exit loses the rest.
await new Promise((resolve) => process.stdout.write('', resolve));
process.exit(code);
