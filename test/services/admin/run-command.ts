/** Runs `npm run store-data -- …` as what it is: a process with arguments, streams and an exit code. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const MAIN = new URL('../../../services/admin/main.ts', import.meta.url).pathname;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningCommand {
  process: ChildProcessWithoutNullStreams;
  result: Promise<CommandResult>;
}

/** Starts a command with nothing in its environment but `env`. */
export function startCommand(
  env: Record<string, string>,
  args: string[],
  { program = MAIN, ...options }: { cwd?: string; program?: string } = {},
): RunningCommand {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    ...options,
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => resolve(code));
  });
  const result = Promise.all([ended, text(child.stdout), text(child.stderr)]).then(
    ([code, stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { process: child, result };
}

/** Runs a command to its end; `input` is its standard input. */
export function runCommand(
  env: Record<string, string>,
  args: string[],
  { input, ...options }: { input?: string | Buffer; cwd?: string; program?: string } = {},
): Promise<CommandResult> {
  const { process: child, result } = startCommand(env, args, options);
  child.stdin.on('error', () => undefined);
  child.stdin.end(input ?? '');
  return result;
}

/** Runs a command with `--json` that must succeed, and answers what it printed. */
export async function runJson<T>(env: Record<string, string>, args: string[], input?: string): Promise<T> {
  const { code, stdout, stderr } = await runCommand(
    env,
    [...args, '--json'],
    input === undefined ? {} : { input },
  );
  if (code !== 0) throw new Error(`store-data ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
