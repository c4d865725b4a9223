/** `npm start` as a process of its own, and processes that a test has not started itself. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type StackFile, stackFilePath } from '#local/start/files.ts';
import { eventually } from './installation.ts';

const START = fileURLToPath(import.meta.resolve('#local/start.js'));
const READY_LIMIT_MS = 200_000;

export interface RunningStart {
  process: ChildProcess;
  /** All that it has written so far. */
  output: () => string;
  /** Resolves with `stack.json` once it is there. */
  ready: () => Promise<StackFile>;
  /** Resolves with the exit code, `null` after a kill. */
  ended: Promise<number | null>;
}

/** Starts it with its data in the folder, at a free port. */
export function startIn(folder: string, ...args: string[]): RunningStart {
  return startAtUsualPort(folder, '--port', '0', ...args);
}

/** Starts it with its data in the folder. */
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
    ended: once(child, 'close').then(([exitCode]) => (typeof exitCode === 'number' ? exitCode : null)),
    async ready() {
      const limit = Date.now() + READY_LIMIT_MS;
      while (!existsSync(stackFilePath(folder)) || !output.includes('# Ctrl-C ends everything.')) {
        if (child.exitCode !== null || Date.now() > limit) throw new Error(`it did not become ready:\n${output}`);
        await sleep(50);
      }
      return JSON.parse(readFileSync(stackFilePath(folder), 'utf8')) as StackFile;
    },
  };
}

/** The processes that a process has started and that run now, with their command lines. */
export function childrenOf(pid: number | undefined): { pid: number; command: string }[] {
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [child, parent, ...command] = line.trim().split(/\s+/);
    return Number(parent) === pid ? [{ pid: Number(child), command: command.join(' ') }] : [];
  });
}

/** Whether a process runs; one that has ended and was not yet waited for (a zombie) does not. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false;
  }
}

/** Resolves when none of them runs any more. */
export function awaitGone(pids: readonly number[]): Promise<void> {
  return eventually(`processes ${pids.join(', ')} have ended`, () => !pids.some(isRunning), 60_000);
}

/** The environment of this process without the addresses of the servers that all tests share, and whether those are clusters. */
export function environmentWithoutAddresses(): NodeJS.ProcessEnv {
  const names = new Set(['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL', 'STACK_TOPOLOGY']);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.has(name)));
}
