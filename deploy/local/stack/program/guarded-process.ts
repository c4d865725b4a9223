// Runs one program so that it never outlives its owner: in a session of its own (a terminal's Ctrl-C is not for it),
// known to the guardian before its first instruction, its output in a file.
import { spawn } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import type { Guard } from './guard.ts';

export interface Command {
  file: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

export interface PartExit {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

export interface GuardedProcess {
  pid: number;
  exited: Promise<PartExit>;
  /** Ends it: SIGTERM and then, after `graceMs`, SIGKILL; with no grace SIGKILL at once. */
  stop(graceMs: number): Promise<void>;
}

// The shell waits for a line before it becomes the program, so that there is no instant in which the program
// runs and the guardian doesn't know it; if the owner dies before that, the shell reads the end of the pipe and ends.
const HOLD_BEFORE_EXEC = 'read -r _ && exec "$@" </dev/null';

/** Starts a program; resolves when the guardian holds it. Its output is appended to `logFile`. */
export async function startGuarded(guard: Guard, command: Command, logFile: string): Promise<GuardedProcess> {
  const output = openSync(logFile, 'a');
  const child = spawn('/bin/sh', ['-c', HOLD_BEFORE_EXEC, 'held', command.file, ...command.args], {
    detached: true,
    stdio: ['pipe', output, output],
    env: command.env ?? process.env,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
  });
  closeSync(output);
  const exited = new Promise<PartExit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const { pid } = child;
  if (pid === undefined)
    throw await exited.then(
      () => new Error('no process'),
      (error: unknown) => error,
    );
  child.stdin?.on('error', () => undefined);
  await guard.hold('process', pid);
  child.stdin?.end('\n');
  const released = exited.finally(() => guard.release('process', pid));
  return { pid, exited: released, stop: (graceMs) => stopGroup(pid, released, graceMs) };
}

async function stopGroup(pid: number, exited: Promise<PartExit>, graceMs: number): Promise<void> {
  if (graceMs > 0) {
    signalGroup(pid, 'SIGTERM');
    // A frozen process (SIGSTOP, by a fault test) can't see the SIGTERM before it goes on.
    signalGroup(pid, 'SIGCONT');
  }
  const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
  await exited.catch(() => undefined);
  clearTimeout(timer);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}
