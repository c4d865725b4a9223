/** `npm start`: the whole system on this machine, with stores at work. */
import { readOptions } from './start/options.ts';
import { run } from './start/run.ts';
import { createScreen } from './start/screen.ts';

const read = readOptions(process.argv.slice(2));
if ('exitCode' in read) process.exit(read.exitCode);
// Whoever reads along may stop doing so (`npm start | head`): that is no reason to end.
process.stdout.on('error', () => undefined);
process.exit(await run(read.options, createScreen(process.stdout)));
