/**
 * Runs a measured service as a process, as in production, with its log in a file, so that reading
 * it costs no time.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Guard, startGuarded } from '#local/stack/process.ts';

export interface Program {
  name: string;
  file: string;
  /** Arguments of Node. */
  flags?: readonly string[];
  /** Environment variables, for example for the C library. */
  variables?: Readonly<Record<string, string>>;
}

const ROOT = new URL('../../', import.meta.url);

/** Reads the program from the npm script. @throws if the script has an unknown form. */
export async function serviceProgram(name: 'projector' | 'query'): Promise<Program> {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const words = (scripts[`start:${name}`] ?? '').split(' ');
  const node = words.indexOf('node');
  const file = words.at(-1);
  if (node === -1 || file === undefined)
    throw new Error(`package.json does not say how ${name} starts`);
  const variables = words.slice(0, node).map((word): [string, string] => {
    const [variable = '', value = ''] = word.split('=');
    return [variable, value];
  });
  return {
    name,
    file: fileURLToPath(new URL(file, ROOT)),
    flags: words.slice(node + 1, -1),
    variables: Object.fromEntries(variables),
  };
}

export interface ServiceOptions extends Program {
  env: Record<string, string>;
  folder: string;
  guard: Guard;
}

const POLL_MS = 50;
const READY_LIMIT_MS = 60_000;
const GRACE_MS = 15_000;

export interface RunningService {
  /** Its address for clients, or for operators if it has no clients. */
  url: string;
  operations: string;
  pid: number;
  stop: () => Promise<void>;
}

/** Starts a service; resolves with its addresses from the log. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { name, file, env, folder, guard, flags = [], variables = {} } = options;
  const logFile = join(folder, `${name}.log`);
  const command = {
    file: process.execPath,
    args: ['--disable-warning=TimeoutNegativeWarning', ...flags, file],
    env: { PATH: process.env['PATH'] ?? '', ...variables, ...env, LOG_LEVEL: 'info' },
  };
  const held = await startGuarded(guard, command, logFile);
  let isRunning = true;
  const ended = () => {
    isRunning = false;
  };
  held.exited.then(ended, ended);
  const stop = () => held.stop(GRACE_MS);
  const until = Date.now() + READY_LIMIT_MS;
  for (;;) {
    const log = await readFile(logFile, 'utf8');
    const started = log.split('\n').find((line) => / started"/.test(line));
    if (started !== undefined) return { ...addressesIn(started), pid: held.pid, stop };
    if (!isRunning || Date.now() > until) {
      await stop();
      throw new Error(`${name} did not start:\n${log.slice(-2_000)}`);
    }
    await sleep(POLL_MS);
  }
}

function addressesIn(line: string): { url: string; operations: string } {
  const { operations, url = operations } = JSON.parse(line) as { url?: string; operations: string };
  return { url, operations };
}
