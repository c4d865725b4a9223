/** The example clients as processes of their own, each with its copy. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { findOnPath } from '#local/stack/program.ts';
import { installPythonPackages } from '#test/python-packages.ts';

const run = promisify(execFile);
const EXAMPLE = join(import.meta.dirname, '../../docs/examples/follow-orders');
const TYPESCRIPT = join(EXAMPLE, 'typescript');

export interface Program {
  file: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

export interface Follower {
  /** What it knows of the store's orders, by id; empty until it has begun. */
  orders: () => Map<string, unknown>;
  /** Ends it as a crash does; what it has stays. */
  kill: () => Promise<void>;
  /** Starts it again. */
  start: () => void;
  /** What it said on its standard error. */
  complaints: () => string;
}

/** Installs the TypeScript example as its README says, and checks its types. */
export async function prepareTypescript(): Promise<Program> {
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: TYPESCRIPT });
  await run('npm', ['run', 'check'], { cwd: TYPESCRIPT });
  const args = ['--disable-warning=ExperimentalWarning', join(TYPESCRIPT, 'main.ts')];
  return { file: process.execPath, args, env: process.env };
}

/** Rejects with the reason where Python or `requests` is not to be had. */
export async function preparePython(): Promise<Program> {
  const file = findOnPath('python3', process.env);
  if (file === undefined) throw new Error('python3 is not installed');
  const packages = await installPythonPackages(
    { name: 'oauth-clients', requirements: join(import.meta.dirname, '../clients/python/requirements.txt') },
    cacheFolder(process.env),
    (line) => process.stderr.write(`${line}\n`),
  );
  return {
    file,
    args: [join(EXAMPLE, 'python', 'follow_orders.py')],
    env: { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' },
  };
}

/** Makes a follower whose copy is in a file; it is not started. */
export function makeFollower(
  { file, args, env }: Program,
  settings: { BASE_URL: string; CLIENT_ID: string; CLIENT_SECRET: string; COPY: string; QUOTA_SHARE: string },
): Follower {
  let child: ChildProcess | null = null;
  let said = '';
  return {
    orders: () => ordersIn(settings.COPY),
    complaints: () => said,
    start() {
      child = spawn(file, args, { env: { ...env, ...settings }, stdio: ['ignore', 'ignore', 'pipe'] });
      child.stderr?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    },
    async kill() {
      const ending = child;
      child = null;
      if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = new Promise((resolve) => ending.once('exit', resolve));
      ending.kill('SIGKILL');
      await ended;
    },
  };
}

function ordersIn(file: string): Map<string, unknown> {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  try {
    const rows = database.prepare('SELECT id, record FROM orders').all();
    return new Map(rows.map(({ id, record }) => [String(id), JSON.parse(String(record))]));
  } catch {
    // It has not made its tables yet.
    return new Map();
  } finally {
    database.close();
  }
}
