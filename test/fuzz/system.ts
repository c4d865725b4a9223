/** The whole system for one run: `npm start` as a process of its own, with a history and a quota without end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type IssuedKey, type StackFile, stackFilePath } from '#local/start/files.ts';

const START = fileURLToPath(import.meta.resolve('#local/start.js'));
const READY_LIMIT_MS = 180_000;
const ORDERS = '60';
const QUOTA = '1000000000';

/** Answers are to be right here; that they come in time is for other tests, on machines with nothing else to do. */
const PATIENCE = {
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  TOKEN_LIFETIME_SECONDS: '86400',
};

export interface System {
  url: string;
  /** A key with all scopes. */
  key: IssuedKey;
  stop: () => Promise<void>;
}

/** Starts it with its data in `folder`; resolves once it serves. */
export async function startSystem(folder: string): Promise<System> {
  // Servers of its own: whatever is asked here is nothing for shared ones.
  const { KAFKA_BROKERS: _kafka, MONGODB_URI: _mongodb, REDIS_URL: _redis, ...env } = process.env;
  const log = openSync(join(folder, 'start.log'), 'w');
  const options = ['--folder', folder, '--no-traffic', '--stores', '1', '--history', ORDERS, '--quota', QUOTA];
  const child = spawn(process.execPath, [START, ...options], {
    env: { ...env, ...PATIENCE },
    stdio: ['ignore', log, log],
  });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    const file = await awaitStackFile(folder, () => child.exitCode === null);
    const [key] = file.keys;
    if (key === undefined) throw new Error('the system has no key');
    return { url: file.query_url, key, stop };
  } catch (error) {
    await stop();
    const output = await readFile(join(folder, 'start.log'), 'utf8');
    throw new Error(`the system did not start:\n${output}`, { cause: error });
  }
}

async function awaitStackFile(folder: string, isRunning: () => boolean): Promise<StackFile> {
  const limit = Date.now() + READY_LIMIT_MS;
  while (isRunning() && Date.now() < limit) {
    const text = await readFile(stackFilePath(folder), 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text) as StackFile;
    await sleep(100);
  }
  throw new Error(isRunning() ? 'it took too long' : 'it ended');
}
