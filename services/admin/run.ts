/** Runs one command and turns what happened into an exit code. */
import { CommanderError } from 'commander';
import { describeError, isUnavailable, refusalOf, StoreDataError } from '#shared/errors.ts';
import { WrongUsage } from './options.ts';
import { fail, runToEnd } from './output/print.ts';
import { createProgram } from './program.ts';

/** Runs the command that the arguments name, with the process's environment and streams, and answers its exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  return runToEnd(args.includes('--json'), async () => {
    try {
      await createProgram().parseAsync(args, { from: 'user' });
      return 0;
    } catch (error) {
      return exitCodeOf(error);
    }
  });
}

/** 1: it failed; 2: it was used wrongly. Says why, unless commander has already. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof StoreDataError) {
    fail(error.code, error.message);
    return error instanceof WrongUsage ? 2 : 1;
  }
  const refusal = refusalOf(error);
  if (refusal !== null) fail('not_authorized', refusal);
  else if (isUnavailable(error))
    fail('environment_unavailable', `a server cannot be reached: ${describeError(error)}`);
  else fail('internal_error', `unexpected: ${describeError(error)}`);
  return 1;
}
