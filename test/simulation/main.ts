/** `npm run simulation`: runs histories of the simulated world for some seconds, or replays one. */
import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { wholeNumber } from '#test/options.ts';
import { simulate } from './simulate.ts';
import { runHistory } from './world.ts';

const MAX_SEED = 2 ** 32 - 1;

const { seed, trace, seconds, from, shrink } = new Command('npm run simulation --')
  .description(
    'Runs the core of the projector in a simulated world, in which things fail at random. Exits with 1 when a promise is broken.',
  )
  .option('--seconds <n>', 'seconds of processor time', wholeNumber(0, 86_400), 20)
  .option(
    '--from <seed>',
    'the seed of the first history; each further one has the next',
    wholeNumber(0, MAX_SEED),
  )
  .option('--no-shrink', 'do not make a history that breaks a promise shorter')
  .option('--seed <n>', 'replays the history of this seed alone', wholeNumber(0, MAX_SEED))
  .option('--trace', 'with --seed: prints what happens in it', false)
  .parse()
  .opts<{ seed?: number; trace: boolean; seconds: number; from?: number; shrink: boolean }>();

/** Processor time, so that the result does not depend on other processes. */
const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const say = (line: string) => process.stdout.write(`${line}\n`);

if (seed !== undefined) {
  const { steps, trace: lines, violation } = await runHistory(seed);
  if (trace || violation !== null) for (const line of lines) say(line);
  say(`seed ${seed}: ${violation?.stack ?? `${steps} steps, every promise was kept`}`);
  process.exitCode = violation === null ? 0 : 1;
} else {
  const { summary, broken } = await simulate(
    from ?? randomInt(2 ** 31),
    seconds * 1_000,
    shrink,
    processorMs,
  );
  for (const line of broken ?? []) say(line);
  say(summary);
  process.exitCode = broken === null ? 0 : 1;
}
