/**
 * The npm package as other projects use it: packed, installed alone, and loaded by three test
 * runners.
 */
import { spawnSync } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useFolder } from '#test/folder.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/.bin/tsc');
const JEST = 'jest@30.5.2';
/** An installation from a registry over a slow connection takes up to this long. */
const INSTALL_LIMIT_MS = 240_000;
/** Variables of this test run that a nested one must not inherit. */
const env = { VITEST: undefined, NODE_OPTIONS: undefined, JEST_WORKER_ID: undefined };

interface Packed {
  filename: string;
  files: { path: string }[];
}

const folder = useFolder();
let packed: Packed;
let installed: PromiseSettledResult<unknown>;
const project = () => join(folder, 'project');
const bin = (name: string) => join(project(), 'node_modules/.bin', name);

beforeAll(async () => {
  const pack = words(`pack --silent --json --pack-destination ${folder}`);
  [packed] = JSON.parse(await run('npm', pack, { cwd: ROOT })) as [Packed];
  await cp(join(ROOT, 'docs/examples/integration-test'), project(), { recursive: true });
  await cp(join(import.meta.dirname, 'project'), project(), { recursive: true });
  // A CommonJS module needs types of its own.
  await cp(join(import.meta.dirname, 'project/types.mts'), join(project(), 'types.cts'));
  await writeFile(
    join(project(), 'package.json'),
    JSON.stringify({ name: 'project', type: 'module' }),
  );
  const install = words('install --no-audit --no-fund --loglevel=error --prefer-offline');
  const what = [join(folder, packed.filename), JEST];
  [installed] = await Promise.allSettled([run('npm', [...install, ...what], { cwd: project() })]);
  for (const name of ['vitest', 'typescript']) {
    await symlink(join(ROOT, 'node_modules', name), join(project(), 'node_modules', name));
  }
}, INSTALL_LIMIT_MS);

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
  const publish = ['publish', '--dry-run', '--json', join(folder, packed.filename)];
  expect(await run('npm', publish, { cwd: folder })).toContain('"entryCount"');
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
  beforeEach(({ skip }) => {
    if (installed.status === 'fulfilled') return;
    const reason = String(installed.reason);
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(reason))
      throw installed.reason;
    // There is no registry.
    process.stderr.write(`skipped, the installed package: ${reason}\n`);
    skip(reason);
  });

  it.each([
    ['node16', 'node16 types.mts types.cts'],
    ['bundler', 'esnext types.mts'],
  ])('has types for moduleResolution %s', async (resolution, moduleAndFiles) => {
    const options = `--noEmit --strict --ignoreConfig --target es2024 --types node --moduleResolution ${resolution} --module ${moduleAndFiles}`;
    await run(TSC, words(options), { cwd: project() });
  });

  it('has everything that docs/testing-your-client.md shows, for import and for require, whatever settings the developer has', async () => {
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
    const args = ['--test', 'all.test.mjs'];
    const said = await run(process.execPath, args, { cwd: project(), env: given });
    expect(said).toMatch(/^. pass 5$/m);
  });

  it('has the types of a whole project that tests with it', async () => {
    await run(TSC, ['--noEmit'], { cwd: project() });
  });

  it.each([
    ['Jest', 'jest/bin/jest.js --ci --json jest.test.cjs', 1],
    ['vitest for a whole project', 'vitest/vitest.mjs run --reporter=json daily-report', 3],
  ])('starts an API under %s', async (_runner, command, numPassedTests) => {
    const args = words(join(project(), 'node_modules', command));
    const said = await run(process.execPath, args, { cwd: project(), env });
    expect(JSON.parse(said)).toMatchObject({ numPassedTests, numFailedTests: 0, success: true });
  });

  it('has the command line, which resolves paths from the current folder', async () => {
    await writeFile(join(project(), 'events.ndjson'), 'no event\n');
    const args = ['publish', 'events.ndjson', '--check', '--environment', 'production'];
    const { status, stdout, stderr } = spawnSync(bin('store-data'), args, {
      cwd: project(),
      encoding: 'utf8',
    });
    expect(`${status} ${stdout}${stderr}`).toMatch(/line 1/);
  });

  it('names the required Node version in one line', () => {
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
