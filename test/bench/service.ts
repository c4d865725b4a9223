/**
 * Runs a measured service as a process, as in production, with its log in a file, so that reading
 * it costs no time.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Guard, startGuarded } from '#local/stack/process.ts';
import { eventually } from '#test/eventually.ts';
import manifest from '../../package.json' with { type: 'json' };

export interface Program {
  name: string;
  /** Environment variables, for example for the C library, and the command of Node. */
  words: readonly string[];
}

/** The program that the npm script starts. */
export function serviceProgram(name: 'projector' | 'query'): Program {
  return { name, words: manifest.scripts[`start:${name}` as const].split(' ') };
}

const READY_LIMIT_MS = 60_000;
const GRACE_MS = 15_000;

export interface RunningService {
  /** Its address for clients; empty if it has none. */
  url: string;
  pid: number;
  stop: () => Promise<void>;
}

/** Starts a service; resolves with its address from the log. */
export async function startService(
  { name, words }: Program,
  env: Record<string, string>,
  { folder, guard }: { folder: string; guard: Guard },
): Promise<RunningService> {
  const logFile = join(folder, `${name}.log`);
  const command = {
    file: 'env',
    args: words,
    env: { PATH: process.env['PATH'] ?? '', ...env, LOG_LEVEL: 'info' },
  };
  const { pid, exited, stop } = await startGuarded(guard, command, logFile);
  let log = '';
  const startLine = () => log.split('\n').find((line) => / started"/.test(line));
  const hasStarted = async () => {
    log = await readFile(logFile, 'utf8');
    return startLine() !== undefined;
  };
  await Promise.race([
    eventually(`${name} has started`, hasStarted, READY_LIMIT_MS),
    exited.then(() => Promise.reject(new Error(`${name} did not start:\n${log}`))),
  ]);
  const { url = '' } = JSON.parse(startLine() ?? '') as { url?: string };
  return { url, pid, stop: () => stop(GRACE_MS) };
}
