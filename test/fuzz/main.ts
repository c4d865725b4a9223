/**
 * `npm run test:fuzz`: schemathesis with all its checks against the whole system: no 5xx, no answer
 * that breaks its schema, no wrong status, header or content type, no invalid request accepted, no
 * valid one refused, no data without a token.
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
/** Long limits: other tests check response times. */
const PATIENCE = {
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  TOKEN_LIFETIME_SECONDS: '86400',
};

const { seed, seconds } = new Command('npm run test:fuzz --')
  .description('Starts the whole system and lets schemathesis send valid and invalid requests.')
  .option('--seed <n>', 'repeats a run', wholeNumber(0, 2 ** 32 - 1), randomInt(2 ** 32))
  .option('--seconds <n>', 'how long to send requests', wholeNumber(1, 86_400), 120)
  .parse()
  .opts<{ seed: number; seconds: number }>();
const say = (line: string) => process.stdout.write(`${line}\n`);

const requirements = join(import.meta.dirname, 'requirements.txt');
const packages = await installPythonPackages(
  { name: 'schemathesis', requirements },
  cacheFolder(process.env),
  say,
);
const folder = await mkdtemp(join(tmpdir(), 'store-data-fuzz-'));
Object.assign(process.env, PATIENCE);
say('starting the system');
const system = startIn(
  folder,
  ...'--no-traffic --stores 1 --history 60 --quota 1000000000'.split(' '),
);
try {
  const code = await ask(await system.ready());
  if (code !== 0) await keepLog();
  process.exitCode = code;
} finally {
  system.process.kill('SIGTERM');
  await system.ended;
  await rm(folder, { recursive: true, force: true });
}

async function ask({ query_url: url, keys: [key] }: StackFile): Promise<number> {
  if (key === undefined) throw new Error('the system has no key');
  const token = await createApiClient(url).token(key.client_id, key.client_secret);
  say(`sending requests for about ${seconds} s with seed ${seed}`);
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
 * Parameter values that match records: by parameter, the id of the first record of every list that
 * links to other operations; by path, a cursor from the middle of every change feed, so that no
 * request waits.
 */
async function knownValues(url: string, token: string): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const cursors: Record<string, string> = {};
  const read = async <T>(path: string) =>
    (await (
      await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
    ).json()) as T;
  for (const [path, { get }] of Object.entries(openApi.paths)) {
    if (path.endsWith('/changes'))
      cursors[path] = (await read<{ next: string }>(`${path}?page_size=1`)).next;
    const links = Object.values((get?.responses['200'] as Linking | undefined)?.links ?? {});
    if (links.length === 0) continue;
    const [first] = (await read<{ results: { id: string }[] }>(path)).results;
    for (const name of links.flatMap(({ parameters }) => Object.keys(parameters))) {
      if (first !== undefined) ids[name] ??= first.id;
    }
  }
  return { FUZZ_IDS: JSON.stringify(ids), FUZZ_CURSORS: JSON.stringify(cursors) };
}

/** Keeps the log for finding the cause of a failure. */
async function keepLog(): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const log = join(KEPT, `seed-${seed}.query.log`);
  await copyFile(join(folder, 'logs', 'query.log'), log);
  say(`\nTo repeat: npm run test:fuzz -- --seed ${seed} --seconds ${seconds}`);
  say(`Log of the query service: ${log}`);
}
