/**
 * The npm package as other projects use it: packed, installed alone, and loaded by three test
 * runners.
 */
import { execFile, spawnSync } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { useFolder } from '#test/folder.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/.bin/tsc');
const JEST = 'jest@30.5.2';
/** An installation from a registry over a slow connection takes up to this long. */
const INSTALL_LIMIT_MS = 240_000;
/** Variables of this test run that a nested one must not inherit. */
const env = {
  ...process.env,
  VITEST: undefined,
  NODE_OPTIONS: undefined,
  JEST_WORKER_ID: undefined,
};

interface Packed {
  filename: string;
  entryCount: number;
  files: { path: string }[];
}

const folder = useFolder();
let packed: Packed;
let installed: PromiseSettledResult<unknown>;
const project = () => join(folder, 'project');
const bin = (name: string) => join(project(), 'node_modules/.bin', name);

beforeAll(async () => {
  const { stdout } = await run(
    'npm',
    ['pack', '--silent', '--json', '--pack-destination', folder],
    {
      cwd: ROOT,
    },
  );
  [packed] = JSON.parse(stdout) as [Packed];
  await cp(join(ROOT, 'docs/examples/integration-test'), project(), { recursive: true });
  await cp(join(import.meta.dirname, 'project'), project(), { recursive: true });
  // A CommonJS module needs types of its own.
  await cp(join(import.meta.dirname, 'project/types.mts'), join(project(), 'types.cts'));
  await writeFile(
    join(project(), 'package.json'),
    JSON.stringify({ name: 'project', type: 'module' }),
  );
  const what = [join(folder, packed.filename), JEST];
  const install = [
    ...'install --no-audit --no-fund --loglevel=error --prefer-offline'.split(' '),
    ...what,
  ];
  [installed] = await Promise.allSettled([run('npm', install, { cwd: project() })]);
  for (const name of ['vitest', 'typescript']) {
    await symlink(join(ROOT, 'node_modules', name), join(project(), 'node_modules', name));
  }
}, INSTALL_LIMIT_MS);

/** Without a registry, tests of the installed package are skipped with the reason. */
function needsInstallation({ skip }: TestContext): void {
  if (installed.status === 'fulfilled') return;
  const reason = String(installed.reason);
  if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(reason))
    throw installed.reason;
  process.stderr.write(`skipped, the installed package: ${reason}\n`);
  skip(reason);
}

describe('the tarball', () => {
  it('has at most 150 entries, a source map for each program, and no TypeScript except declarations', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths.length).toBeLessThanOrEqual(150);
    expect(paths.filter((path) => /(?<!\.d)\.ts$/.test(path))).toEqual([]);
    const bundled = paths.filter((path) =>
      /^dist\/(?:chunks|services\/[^/]+|services\/query\/routes)\/[^/]+\.js$/.test(path),
    );
    expect(bundled.length).toBeGreaterThan(20);
    expect(bundled.filter((path) => !paths.includes(`${path}.map`))).toEqual([]);
  });

  it('imports only declared dependencies', async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
    const programs = packed.files.filter(({ path }) =>
      /^dist\/(?:chunks|services|deploy)\/.*\.js$/.test(path),
    );
    const sources = await Promise.all(
      programs.map(({ path }) => readFile(join(ROOT, path), 'utf8')),
    );
    const names = sources.flatMap((source) =>
      [...source.matchAll(/(?:^import |^\} from |\bimport\(| from )"([^."][^"]*)"/gm)].map(
        ([, name = '']) => name,
      ),
    );
    const packages = names.filter((name) => !isBuiltin(name)).map(packageOf);
    expect(packages).toContain('fastify');
    expect([...new Set(packages)].filter((name) => !(name in declared))).toEqual([]);
  });
});

it('passes a dry run of npm publish', async () => {
  const { stdout } = await run(
    'npm',
    ['publish', '--dry-run', '--json', join(folder, packed.filename)],
    {
      cwd: folder,
    },
  );
  expect(stdout).toContain('"entryCount"');
});

interface Manifest {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

describe.concurrent('the installed package', () => {
  it.for(['node16', 'bundler'])(
    'has types for moduleResolution %s',
    async (resolution, context) => {
      needsInstallation(context);
      const isNode = resolution === 'node16';
      const options = `--noEmit --strict --ignoreConfig --target es2024 --types node --module ${
        isNode ? 'node16' : 'esnext'
      } --moduleResolution ${resolution} types.mts ${isNode ? 'types.cts' : ''}`;
      await run(TSC, options.trim().split(' '), { cwd: project() });
    },
  );

  it('has everything that docs/testing-your-client.md shows, for import and for require, whatever settings the developer has', async (context) => {
    needsInstallation(context);
    const developers = {
      KAFKA_TLS: 'true',
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'me',
      KAFKA_SASL_PASSWORD: 'secret',
      MONGODB_USERNAME: 'me',
      MONGODB_PASSWORD: 'secret',
      REDIS_USERNAME: 'me',
      REDIS_PASSWORD: 'secret',
      SIGNING_KEYS: 'none',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      QUERY_PORT: 'x',
    };
    const given = { ...env, ...developers, STACK_SOURCE: '' };
    const { stdout } = await run(process.execPath, ['--test', 'all.test.mjs'], {
      cwd: project(),
      env: given,
    });
    expect(stdout).toMatch(/^. pass 5$/m);
  });

  it('starts an API under Jest', async (context) => {
    needsInstallation(context);
    const args = [join(project(), 'node_modules/jest/bin/jest.js'), '--ci', 'jest.test.cjs'];
    const { stderr } = await run(process.execPath, args, { cwd: project(), env });
    expect(stderr).toMatch(/^Tests: +1 passed, 1 total$/m);
  });

  it('starts an API under vitest for a whole project', async (context) => {
    needsInstallation(context);
    await run(TSC, ['--noEmit'], { cwd: project() });
    const vitest = join(project(), 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--reporter=json', 'daily-report'];
    const { stdout } = await run(process.execPath, args, { cwd: project(), env });
    expect(JSON.parse(stdout)).toMatchObject({
      numPassedTests: 3,
      numFailedTests: 0,
      success: true,
    });
  });

  it('has the command line, which resolves paths from the current folder', async (context) => {
    needsInstallation(context);
    await writeFile(join(project(), 'events.ndjson'), 'no event\n');
    const args = ['publish', 'events.ndjson', '--check', '--environment', 'production'];
    const { status, stdout, stderr } = spawnSync(bin('store-data'), args, {
      cwd: project(),
      encoding: 'utf8',
    });
    expect(`${status} ${stdout}${stderr}`).toMatch(/line 1/);
  });

  it('names the required Node version in one line', async (context) => {
    needsInstallation(context);
    const versions =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })";
    const old = ['--import', `data:text/javascript,${encodeURIComponent(versions)}`];
    const { status, stderr } = spawnSync(process.execPath, [...old, bin('store-data')], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Node 24\.16 or later is needed, and this is 22\.1\.0.*\n$/),
    });
  });
});
