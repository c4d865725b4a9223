/** `npm run test:trial`: adversarial events and faults, and every answer compared with the model of the contract. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import startServers from '#test/global-setup.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';
import { describeTally, runTrial } from './trial.ts';

const USAGE = 'npm run test:trial -- [--seed <n>] [--seconds <n>] [--rounds <n>]';

const options = readOptions(process.argv.slice(2));
const say = (line: string) => process.stdout.write(`${line}\n`);
withSmallTrees(...SMALL_TREES);
const stop = await startServers();
try {
  say(`seed ${options.seed}, for ${options.seconds} s`);
  const tally = await runTrial({ ...options, say });
  say(`no difference: ${describeTally(tally)}`);
} finally {
  await stop();
}

function readOptions(args: string[]): { seed: number; seconds: number; rounds: number } {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      seconds: { type: 'string', default: '300' },
      rounds: { type: 'string', default: '6' },
    },
  });
  const whole = (name: keyof typeof values) => {
    if (/^\d{1,10}$/.test(values[name])) return Number(values[name]);
    process.stderr.write(`--${name} must be a whole number: ${USAGE}\n`);
    return process.exit(2);
  };
  return { seed: whole('seed'), seconds: whole('seconds'), rounds: whole('rounds') };
}
