/**
 * `npm run test:fuzz`: schemathesis against the whole system, with all its checks: no 5xx, no answer outside of its schema, no wrong
 * status, header or content type, nothing invalid accepted, nothing valid refused, no data without a token.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { cacheFolder } from '#local/stack/fetch.ts';
import type { StackFile } from '#local/start/files.ts';
import { createApiClient } from '#test/api-client.ts';
import { openApi } from '#test/documented.ts';
import { startIn } from '#test/local-processes.ts';
import { wholeNumber } from '#test/options.ts';
import { installPythonPackages } from '#test/python-packages.ts';

const KEPT = join(import.meta.dirname, '../../.local/fuzz');
/** Answers are to be right here; other tests check that they come in time. */
const PATIENCE = {
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  TOKEN_LIFETIME_SECONDS: '86400',
};

const { seed, seconds } = new Command('npm run test:fuzz --')
  .description('Starts the whole system and lets schemathesis ask it whatever the OpenAPI document allows, and more.')
  .option('--seed <n>', 'repeats a run', wholeNumber(0, 2 ** 32 - 1), randomInt(2 ** 32))
  .option('--seconds <n>', 'how long to ask', wholeNumber(1, 86_400), 120)
  .parse()
  .opts<{ seed: number; seconds: number }>();
const say = (line: string) => process.stdout.write(`${line}\n`);

const requirements = join(import.meta.dirname, 'requirements.txt');
const packages = await installPythonPackages({ name: 'schemathesis', requirements }, cacheFolder(process.env), say);
const folder = await mkdtemp(join(tmpdir(), 'store-data-fuzz-'));
Object.assign(process.env, PATIENCE);
say('starting the system');
const system = startIn(folder, ...'--no-traffic --stores 1 --history 60 --quota 1000000000'.split(' '));
try {
  const code = await ask(await system.ready());
  if (code !== 0) await keepLog();
  process.exitCode = code;
} finally {
  system.process.kill('SIGTERM');
  await system.ended;
  await rm(folder, { recursive: true, force: true });
}

/** Answers the exit code. */
async function ask({ query_url: url, keys: [key] }: StackFile): Promise<number> {
  if (key === undefined) throw new Error('the system has no key');
  const token = await createApiClient(url).token(key.client_id, key.client_secret);
  say(`asking for about ${seconds} s with seed ${seed}`);
  const child = spawn(
    'python3',
    [
      '-c',
      'from schemathesis.cli import schemathesis; schemathesis()',
      `--config-file=${join(import.meta.dirname, 'schemathesis.toml')}`,
      'run',
      `${url}/openapi.json`,
      `--seed=${seed}`,
      `--max-time=${seconds}`,
      '--checks=all',
      '--generation-database=none',
    ],
    {
      cwd: folder,
      env: {
        ...process.env,
        PYTHONPATH: [packages, import.meta.dirname].join(':'),
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: 'hooks',
        FUZZ_CLIENT_ID: key.client_id,
        FUZZ_CLIENT_SECRET: key.client_secret,
        FUZZ_TOKEN: token,
        ...(await knownValues(url, token)),
      },
      stdio: 'inherit',
    },
  );
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

interface Linking {
  links?: Record<string, { parameters: Record<string, string> }>;
}

/**
 * Values of parameters with which something is found: the id of the first record of every list whose answer links to other operations, by
 * the parameter that takes it, and a cursor from the middle of every change feed, by its path, so that no request waits.
 */
async function knownValues(url: string, token: string): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const cursors: Record<string, string> = {};
  const read = async <T>(path: string) =>
    (await (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).json()) as T;
  for (const [path, { get }] of Object.entries(openApi.paths)) {
    if (path.endsWith('/changes')) cursors[path] = (await read<{ next: string }>(`${path}?page_size=1`)).next;
    const links = Object.values((get?.responses['200'] as Linking | undefined)?.links ?? {});
    if (links.length === 0) continue;
    const [first] = (await read<{ results: { id: string }[] }>(path)).results;
    for (const name of links.flatMap(({ parameters }) => Object.keys(parameters))) {
      if (first !== undefined) ids[name] ??= first.id;
    }
  }
  return { FUZZ_IDS: JSON.stringify(ids), FUZZ_CURSORS: JSON.stringify(cursors) };
}

/** Keeps what helps to find the cause of a failure. */
async function keepLog(): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const log = join(KEPT, `seed-${seed}.query.log`);
  await copyFile(join(folder, 'logs', 'query.log'), log);
  say(`\nTo repeat it: npm run test:fuzz -- --seed ${seed} --seconds ${seconds}`);
  say(`What the query service logged: ${log}`);
}
