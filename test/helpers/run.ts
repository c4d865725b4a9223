/** Runs a program to its end. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * @param options `env` has more variables, `input` is for the standard input.
 * @returns the standard output. Rejects with all output if the program fails.
 */
export async function run(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeout?: number; input?: string } = {},
): Promise<string> {
  const { input = '', env, ...others } = options;
  const running = promisify(execFile)(file, args, {
    ...others,
    env: { ...process.env, ...env },
    maxBuffer: 100 * 1_048_576,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
