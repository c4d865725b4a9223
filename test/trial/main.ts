/**
 * `npm run test:trial`: adversarial events and faults, and every answer compared with the model of
 * the contract.
 */
import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import startServers from '#test/global-setup.ts';
import { wholeNumber } from '#test/options.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { startReplicaSet, WITH_TEST_COMMANDS } from '../faults/servers/replica-set.ts';
import { mongodbFaults } from './mongodb-faults.ts';
import { SMALL_TREES } from './small-trees.ts';
import { describeTally, runTrial } from './trial.ts';

const options = new Command('npm run test:trial --')
  .option('--seed <n>', 'repeats a run', wholeNumber(0, 2 ** 31), randomInt(2 ** 31))
  .option('--seconds <n>', 'how long to begin episodes', wholeNumber(0), 300)
  .option('--rounds <n>', 'rounds of an episode', wholeNumber(0), 6)
  .parse()
  .opts<{ seed: number; seconds: number; rounds: number }>();
const say = (line: string) => process.stdout.write(`${line}\n`);
withSmallTrees(...SMALL_TREES);
const mongodb = await startReplicaSet(3, { args: WITH_TEST_COMMANDS });
process.env['MONGODB_URI'] = mongodb.uri;
const stop = await startServers();
try {
  say(`seed ${options.seed}, for ${options.seconds} s`);
  const tally = await runTrial({ ...options, say, mongodb: mongodbFaults(mongodb) });
  say(`no difference: ${describeTally(tally)}`);
} finally {
  await stop();
  await mongodb.close();
}
