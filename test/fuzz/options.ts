/** The options of `npm run test:fuzz`. */
import { randomInt } from 'node:crypto';
import { Command, CommanderError, InvalidArgumentError } from 'commander';

export interface FuzzOptions {
  seed: number;
  /** How long schemathesis may go on. */
  seconds: number;
}

/** What the arguments say, or the exit code with which the process ends. */
export function readOptions(args: readonly string[]): FuzzOptions | { exitCode: number } {
  const command = new Command('npm run test:fuzz --')
    .description('Starts the whole system and lets schemathesis ask it whatever the OpenAPI document allows, and more.')
    .option('--seed <n>', 'repeats a run', whole(0, 2 ** 32 - 1))
    .option('--seconds <n>', 'how long to ask', whole(1, 86_400), 120)
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { exitCode: error.exitCode === 0 ? 0 : 2 };
  }
  const { seed, seconds } = command.opts<{ seed?: number; seconds: number }>();
  return { seed: seed ?? randomInt(2 ** 32), seconds };
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
