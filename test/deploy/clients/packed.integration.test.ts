/**
 * A newcomer's first minutes with the packed files alone: what they hold, their types, and the
 * programs of their READMEs.
 */
import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { anOrder, aStore } from '#test/changes.ts';
import { useFolder } from '#test/folder.ts';
import { useQueryService } from '#test/hooks.ts';
import { words } from '#test/words.ts';
import { prepared, settled } from '../../clients/programs.ts';
import { installPython, installTypeScript, pythonTools } from './packed.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const OF_TYPESCRIPT = 'deploy/clients/typescript/README.md';
const OF_PYTHON = 'deploy/clients/python/README.md';
const GUIDE = 'docs/guides/first-request.md';
const TSC = join(ROOT, 'node_modules/.bin/tsc');

const folder = useFolder();
const project = join(folder, 'project');
const service = useQueryService();
const tools = settled(pythonTools());
/** What the programs of a README and of the guide print. */
const PRINTED = /^Pizzaria[^\n]*, at -03:00\no1 pending [\d.]+\n2 (?:pending|concluded)\n$/;

beforeAll(async () => {
  await service.setKey({ clientId: 'newcomer' });
  await service.apply([
    aStore('s1', { name: 'Pizzaria' }),
    anOrder('o1', { status: 'pending' }),
    anOrder('o2', { status: 'concluded' }),
  ]);
  await installTypeScript(project);
  const files = await readdir(join(import.meta.dirname, 'project'));
  const usage = files.filter((name) => name.startsWith('usage.'));
  for (const name of usage)
    await cp(join(import.meta.dirname, 'project', name), join(project, name));
  await cp(join(project, 'usage.mts'), join(project, 'usage.cts'));
});

const environment = () => ({
  ...process.env,
  BASE_URL: service.url,
  API: service.url,
  CLIENT_ID: 'newcomer',
  CLIENT_SECRET: 'secret',
});

/** The blocks of code in a document. */
async function programsOf(path: string, language: 'ts' | 'python'): Promise<string[]> {
  const text = await readFile(join(ROOT, path), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}

describe('the npm package', () => {
  it('holds programs, types and the license, and nothing else', async () => {
    const files = await readdir(join(project, 'node_modules/store-data-client'), {
      recursive: true,
    });
    const names = [
      'index.js',
      'index.cjs',
      'index.d.ts',
      'index.d.cts',
      'types.d.ts',
      'types.d.cts',
      'LICENSE',
    ];
    expect(files.toSorted()).toEqual(
      ['README.md', 'dist', 'package.json', ...names.map((name) => `dist/${name}`)].toSorted(),
    );
  });

  it.each(['node16', 'bundler'])(
    'has strict types for moduleResolution %s, also in its README',
    async (resolution) => {
      for (const [index, code] of (await programsOf(OF_TYPESCRIPT, 'ts')).entries()) {
        await writeFile(join(project, `readme-${index}.mts`), code);
      }
      const module = resolution === 'node16' ? 'node16' : 'esnext';
      const files = (await readdir(project)).filter(
        (name) => name.endsWith('.mts') || name === 'usage.cts',
      );
      expect(files.length).toBeGreaterThanOrEqual(4);
      const strict = words(
        '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false',
      );
      const options = words(
        '--ignoreConfig --target es2022 --types node --typeRoots',
        `${ROOT}/node_modules/@types`,
      );
      const resolved = ['--module', module, '--moduleResolution', resolution];
      // For bundlers, .cts files are modules of CommonJS without another resolution.
      const given = resolution === 'node16' ? files : files.filter((name) => name !== 'usage.cts');
      await run(TSC, [...strict, ...options, ...resolved, ...given], { cwd: project });
    },
  );

  it('can be required', async () => {
    const code =
      "const { createClient } = require('store-data-client'); console.log(typeof createClient)";
    const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', code], {
      cwd: project,
    });
    expect(stdout).toBe('function\n');
  });

  it('runs the first programs of its README and of the guide', async () => {
    const programs = [
      (await programsOf(OF_TYPESCRIPT, 'ts'))[0],
      (await programsOf(GUIDE, 'ts'))[0],
    ];
    let printed = '';
    for (const [index, program = ''] of programs.entries()) {
      await writeFile(join(project, `first-${index}.ts`), program);
      const given = { cwd: project, env: environment() };
      printed += (await run(process.execPath, [`first-${index}.ts`], given)).stdout;
    }
    expect(printed).toMatch(PRINTED);
  });

  it('type-checks the example follow-orders', async () => {
    await cp(
      join(ROOT, 'docs/examples/follow-orders/typescript/follow.ts'),
      join(project, 'follow.mts'),
    );
    const options = words(
      '--ignoreConfig --noEmit --strict --target es2024 --module nodenext --types node --typeRoots',
    );
    await run(TSC, [...options, `${ROOT}/node_modules/@types`, 'follow.mts'], { cwd: project });
  });
});

describe('the wheel', () => {
  const ready = async (context: TestContext) => {
    const found = await prepared(tools, context);
    const packages = await installPython(found);
    const env = { ...environment(), PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
    return { found, packages, env };
  };

  it('holds the module with its types, and nothing else', async (context) => {
    const { packages } = await ready(context);
    const module = (await readdir(join(packages, 'store_data_client'))).filter(
      (name) => name !== '__pycache__',
    );
    expect(module.toSorted()).toEqual(['__init__.py', 'py.typed', 'types.py']);
    expect(await readdir(packages)).toHaveLength(2);
  });

  it('passes mypy --strict, with the programs of its README, for Python 3.10 and later', async (context) => {
    const { found, packages, env } = await ready(context);
    const files = ['usage.py'];
    for (const [index, code] of (await programsOf(OF_PYTHON, 'python')).slice(0, 2).entries()) {
      await writeFile(join(project, `readme_${index}.py`), code);
      files.push(`readme_${index}.py`);
    }
    await cp(
      join(ROOT, 'docs/examples/follow-orders/python/follow.py'),
      join(project, 'follow.py'),
    );
    const given = { ...env, PYTHONPATH: found, MYPYPATH: packages };
    for (const version of ['3.10', '3.13']) {
      const options = [
        '--strict',
        '--python-version',
        version,
        '--cache-dir',
        join(folder, 'mypy'),
      ];
      const { stdout } = await run('python3', ['-m', 'mypy', ...options, ...files, 'follow.py'], {
        cwd: project,
        env: given,
      });
      expect(stdout).toMatch(/^Success/);
    }
  });

  it('runs the first programs of its README and of the guide', async (context) => {
    const { env } = await ready(context);
    const programs = [
      (await programsOf(OF_PYTHON, 'python'))[0],
      (await programsOf(GUIDE, 'python'))[0],
    ];
    let printed = '';
    for (const program of programs)
      printed += (await run('python3', ['-c', program ?? ''], { env })).stdout;
    expect(printed).toMatch(PRINTED);
  });
});
