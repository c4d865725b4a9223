/**
 * `npm run test:fuzz`: schemathesis against the whole system, with all its checks: no 5xx, no answer outside of its schema, no wrong
 * status, header or content type, nothing invalid accepted, nothing valid refused, nothing told without a token.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '#local/stack/fetch.ts';
import { createApiClient } from '#test/api-client.ts';
import { installSchemathesis } from './install.ts';
import { knownCursors, knownIds } from './known-ids.ts';
import { type FuzzOptions, readOptions } from './options.ts';
import { startSystem, type System } from './system.ts';

const KEPT = join(import.meta.dirname, '../../.local/fuzz');

const options = readOptions(process.argv.slice(2));
if ('exitCode' in options) process.exit(options.exitCode);
const say = (line: string) => process.stdout.write(`${line}\n`);

const packages = await installSchemathesis(cacheFolder(process.env), say);
const folder = await mkdtemp(join(tmpdir(), 'store-data-fuzz-'));
try {
  say('starting the system');
  const system = await startSystem(folder);
  try {
    const code = await ask(options, packages, system);
    if (code !== 0) await keep(options);
    process.exitCode = code;
  } finally {
    await system.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Answers the exit code. */
async function ask({ seed, seconds }: FuzzOptions, packages: string, system: System): Promise<number> {
  const { url, key } = system;
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
        FUZZ_IDS: JSON.stringify(await knownIds(system, token)),
        FUZZ_CURSORS: JSON.stringify(await knownCursors(system, token)),
      },
      stdio: 'inherit',
    },
  );
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

/** What helps to find the cause of a failure. */
async function keep({ seed, seconds }: FuzzOptions): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const log = join(KEPT, `seed-${seed}.query.log`);
  await copyFile(join(folder, 'logs', 'query.log'), log);
  say(`\nTo repeat it: npm run test:fuzz -- --seed ${seed} --seconds ${seconds}`);
  say(`What the query service logged: ${log}`);
}
