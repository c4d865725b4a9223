/** `npm start` as a process of its own, for tests: what it writes, what it leaves, and whom it has started. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type StackFile, stackFilePath } from '#local/start/files.ts';
import { environmentWithoutAddresses } from '../stack/processes.ts';

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
