/** What `npm start` runs once it is certain that this Node can: from the options to the exit code. */
import { readOptions } from './options.ts';
import { run } from './run.ts';
import { createScreen } from './screen.ts';

const read = readOptions(process.argv.slice(2));
if ('exitCode' in read) process.exit(read.exitCode);
// A reader that closes the pipe (`npm start | head`) is no reason to end.
process.stdout.on('error', () => undefined);
const isPlain = read.options.plain || (process.env['NO_COLOR'] ?? '') !== '';
process.exit(await run(read.options, createScreen(process.stdout, isPlain)));
