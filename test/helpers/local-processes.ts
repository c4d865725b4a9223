/** Runs `npm start` as a process, and finds processes that a test did not start itself. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type StackFile, stackFilePath } from '#local/start/files.ts';
import { eventually } from './eventually.ts';

const START = fileURLToPath(import.meta.resolve('#local/start.js'));
const READY_LIMIT_MS = 200_000;

export interface RunningStart {
  process: ChildProcess;
  /** The output so far. */
  output: () => string;
  /** Resolves with `stack.json` once it exists. */
  ready: () => Promise<StackFile>;
  /** Resolves with the exit code; `null` after a kill. */
  ended: Promise<number | null>;
}

/** Starts it with data in the folder, at a free port. */
export function startIn(folder: string, ...args: string[]): RunningStart {
  return startAtUsualPort(folder, '--port', '0', ...args);
}

/** Starts it with data in the folder. */
export function startAtUsualPort(folder: string, ...args: string[]): RunningStart {
  const child = spawn(
    process.execPath,
    ['--disable-warning=TimeoutNegativeWarning', START, '--folder', folder, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environmentWithoutAddresses(),
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return {
    process: child,
    output: () => output,
    ended: once(child, 'close').then(([exitCode]) =>
      typeof exitCode === 'number' ? exitCode : null,
    ),
    async ready() {
      const isReady = () => {
        if (child.exitCode !== null) throw new Error(`it did not become ready:\n${output}`);
        return existsSync(stackFilePath(folder)) && output.includes('# Ctrl-C ends everything.');
      };
      await eventually('the system is ready', isReady, READY_LIMIT_MS);
      return JSON.parse(readFileSync(stackFilePath(folder), 'utf8')) as StackFile;
    },
  };
}

/** The running child processes of a process, with their command lines. */
export function childrenOf(pid: number | undefined): { pid: number; command: string }[] {
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [child, parent, ...command] = line.trim().split(/\s+/);
    return Number(parent) === pid ? [{ pid: Number(child), command: command.join(' ') }] : [];
  });
}

/** Whether a process runs; a zombie does not. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false;
  }
}

/** Resolves when all of them have ended. */
export function awaitGone(pids: readonly number[]): Promise<void> {
  return eventually(`processes ${pids.join(', ')} have ended`, () => !pids.some(isRunning), 60_000);
}

/** The environment of this process without the variables of the shared servers. */
export function environmentWithoutAddresses(): NodeJS.ProcessEnv {
  const names = new Set(['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL', 'STACK_TOPOLOGY']);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.has(name)));
}
