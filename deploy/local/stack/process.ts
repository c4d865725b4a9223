// Runs programs that never outlive their owner: the guardian (guardian.ts) knows each before its
// first instruction.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';

const GUARDIAN = join(import.meta.dirname, `guardian${PROGRAM_SUFFIX}`);

/**
 * The kinds of things that a guard holds: a process group by its leader's id, a container by its
 * id, a file or folder by its path.
 */
type HeldKind = 'process' | 'container' | 'path';

/** Removes what it holds when this process ends. */
export type Guard = ReturnType<typeof startGuard>;

export function startGuard() {
  const guardian = spawn(process.execPath, [GUARDIAN], {
    // A session of its own: signals of the terminal and the group do not reach it.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = once(guardian, 'close');
  const waiting = new Map<string, () => void>();
  createInterface({ input: guardian.stdout }).on('line', (line) => {
    waiting.get(line)?.();
    waiting.delete(line);
  });
  // Without the guardian stop() still ends everything, but a SIGKILL of this process does not.
  guardian.stdin.on('error', () => undefined);
  gone.catch(() => undefined);
  return {
    pid: guardian.pid ?? 0,
    /** Resolves when the guardian knows them: they cannot outlive this process. */
    async hold(kind: HeldKind, ...what: (string | number)[]): Promise<void> {
      const lines = what.map((one) => `hold ${kind} ${one}`);
      const acknowledged = lines.map(
        (line) => new Promise<void>((resolve) => waiting.set(line, resolve)),
      );
      // One write: a stream delays a second one to the next turn of the event loop.
      guardian.stdin.write(lines.map((line) => `${line}\n`).join(''));
      await Promise.race([Promise.all(acknowledged), gone]);
    },
    /** It is gone, or may stay. */
    release(kind: HeldKind, what: string | number): void {
      guardian.stdin.write(`release ${kind} ${what}\n`);
    },
    /** Waits until the guardian has removed all that is held, and ended. */
    async close(): Promise<void> {
      guardian.stdin.end();
      await gone;
    },
  };
}

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

// The shell waits for a line before it becomes the program, so the guardian always knows a running
// program. If the owner dies first, the pipe ends, and so does the shell.
const HOLD_BEFORE_EXEC = 'read -r _ && exec "$@" </dev/null';

/** Starts a program; resolves when the guardian holds it. Its output is appended to `logFile`. */
export async function startGuarded(
  guard: Guard,
  command: Command,
  logFile: string,
): Promise<GuardedProcess> {
  const output = openSync(logFile, 'a');
  const child = spawn('/bin/sh', ['-c', HOLD_BEFORE_EXEC, 'held', command.file, ...command.args], {
    detached: true,
    stdio: ['pipe', output, output],
    env: command.env ?? process.env,
    ...(command.cwd !== undefined && { cwd: command.cwd }),
  });
  closeSync(output);
  const exited = new Promise<PartExit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const { pid } = child;
  // Without an id it did not start: this throws why.
  if (pid === undefined) throw new Error(`no process: ${JSON.stringify(await exited)}`);
  child.stdin?.on('error', () => undefined);
  await guard.hold('process', pid);
  child.stdin?.end('\n');
  const released = exited.finally(() => guard.release('process', pid));
  return { pid, exited: released, stop: (graceMs) => stopGroup(pid, released, graceMs) };
}

async function stopGroup(pid: number, exited: Promise<PartExit>, graceMs: number): Promise<void> {
  if (graceMs > 0) {
    signalGroup(pid, 'SIGTERM');
    // A frozen process (SIGSTOP, by a fault test) handles the SIGTERM only once it continues.
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

/** The state of a process from `/proc`; empty without it. */
export function statOf(pid: number): { state?: string; parent?: string; started?: string } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold blanks.
    const [state = '', parent = '', ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent, started: more[17] ?? '' };
  } catch {
    return {};
  }
}

const TAIL_BYTES = 16 * 1024;

export function lastLines(file: string, count = 12): string[] {
  if (!existsSync(file)) return [];
  const tail = readFileSync(file).subarray(-TAIL_BYTES).toString();
  return tail
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-count);
}
