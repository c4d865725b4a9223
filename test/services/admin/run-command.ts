/**
 * Runs `npm run store-data -- …`. In the test's process a command starts without loading all
 * modules again. Tests of signals, exit codes and shell arguments need a real process.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { runProgram } from '#admin/program.ts';
import { inheritedEnvironment } from '#test/service-process.ts';

const MAIN = new URL('../../../services/admin/main.ts', import.meta.url).pathname;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The JSON of `verify`. */
export interface VerifyAnswer {
  stores: number;
  repaired: number;
  differences: { store: string; what: string; stored: string; counted: string }[];
}

export interface RunningCommand {
  process: ChildProcessWithoutNullStreams;
  result: Promise<CommandResult>;
}

/** The arguments: a list, or a string if none has a blank. */
type Words = string | readonly string[];

const wordsOf = (words: Words) => (typeof words === 'string' ? words.split(' ') : words);

/** Asserts that a command fails with this reason and prints no result. */
export async function expectRefused(
  running: Promise<CommandResult>,
  reason: string | RegExp,
  code = 1,
): Promise<void> {
  const stderr: unknown =
    typeof reason === 'string' ? expect.stringContaining(reason) : expect.stringMatching(reason);
  expect(await running).toMatchObject({ code, stdout: '', stderr });
}

/** Starts a command as a process whose environment is only `env`. */
export function startCommand(
  env: Record<string, string>,
  args: Words,
  { program = MAIN, ...options }: { cwd?: string; program?: string } = {},
): RunningCommand {
  const child = spawn(process.execPath, [program, ...wordsOf(args)], {
    env: { ...inheritedEnvironment(), ...env },
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

/** Runs a command as a process; `input` is its standard input. */
export function runProcess(
  env: Record<string, string>,
  args: Words,
  { input, ...options }: { input?: string | Buffer; cwd?: string; program?: string } = {},
): Promise<CommandResult> {
  const { process: child, result } = startCommand(env, args, options);
  child.stdin.on('error', () => undefined);
  child.stdin.end(input ?? '');
  return result;
}

/** Runs a command in the test's process; several can run concurrently. */
export async function runCommand(
  env: Record<string, string>,
  args: Words,
  { input }: { input?: string | Buffer } = {},
): Promise<CommandResult> {
  isolateCommands();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const own: CommandProcess = {
    env: { ...env },
    stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
    stdout,
    stderr,
  };
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const code = await ofCommand.run(own, () => runProgram(wordsOf(args)));
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (before[index]?.includes(listener) !== true) process.removeListener(signal, listener);
    }
  }
  for (const stream of [stdout, stderr]) stream.end();
  const [output, errors] = await written;
  return { code, stdout: output, stderr: errors };
}

/** Runs a command with `--json`, asserts success, and returns its output. */
export async function runJson<T>(env: Record<string, string>, args: Words, input = ''): Promise<T> {
  const words = [...wordsOf(args), '--json'];
  const { code, stdout, stderr } = await runCommand(env, words, { input });
  if (code !== 0) throw new Error(`store-data ${words.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The parts of `process` that each command has for itself. */
interface CommandProcess {
  env: Record<string, string>;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const ofCommand = new AsyncLocalStorage<CommandProcess>();

let isIsolated = false;

/**
 * Makes those parts of `process` depend on the asynchronous context: a command sees its own, other
 * code the real ones.
 */
function isolateCommands(): void {
  if (isIsolated) return;
  isIsolated = true;
  for (const name of ['env', 'stdin', 'stdout', 'stderr'] as const) {
    const original = Object.getOwnPropertyDescriptor(process, name);
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      get(this: NodeJS.Process): unknown {
        const own = ofCommand.getStore();
        if (own !== undefined) return own[name];
        return original?.get === undefined ? original?.value : original.get.call(this);
      },
    });
  }
}
