/**
 * A newcomer's first minutes with the packed files alone: what they hold, their types, and the
 * programs of their READMEs.
 */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { anOrder, aStore } from '#test/changes.ts';
import { useFolder } from '#test/folder.ts';
import { useQueryService } from '#test/hooks.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';
import { installPython, installTypeScript } from './packed.ts';

const ROOT = join(import.meta.dirname, '../../..');
const README = {
  ts: 'deploy/clients/typescript/README.md',
  python: 'deploy/clients/python/README.md',
};
const GUIDE = 'docs/guides/first-request.md';
const FOLLOW = join(ROOT, 'docs/examples/follow-orders');
const TSC = join(ROOT, 'node_modules/.bin/tsc');

const folder = useFolder();
const project = join(folder, 'project');
const service = useQueryService();
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
  for (const name of ['usage.mts', 'usage.py'])
    await cp(join(import.meta.dirname, 'project', name), join(project, name));
  await cp(join(project, 'usage.mts'), join(project, 'usage.cts'));
});

/** Runs a command in the project, with the settings of the programs. */
function runInProject(file: string, args: string[], env: Record<string, string> = {}) {
  const credentials = { CLIENT_ID: 'newcomer', CLIENT_SECRET: 'secret' };
  const all = { ...env, BASE_URL: service.url, API: service.url, ...credentials };
  return run(file, args, { cwd: project, env: all });
}

/** The blocks of code in a document. */
async function programsOf(path: string, language: 'ts' | 'python'): Promise<string[]> {
  const text = await readFile(join(ROOT, path), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}

/** Writes the programs of the README. @returns their names. */
async function writeReadme(language: 'ts' | 'python', ending: string): Promise<string[]> {
  const programs = await programsOf(README[language], language);
  const names = programs.map((_, index) => `readme_${index}${ending}`);
  for (const [index, name] of names.entries())
    await writeFile(join(project, name), programs[index] ?? '');
  return names;
}

/** Runs the first programs of the README and of the guide. */
async function expectFirstPrograms(
  language: 'ts' | 'python',
  runCode: (code: string) => Promise<string>,
): Promise<void> {
  let printed = '';
  for (const path of [README[language], GUIDE])
    printed += await runCode((await programsOf(path, language))[0] ?? '');
  expect(printed).toMatch(PRINTED);
}

describe('the npm package', () => {
  it('holds programs, types and the license, and nothing else', async () => {
    const dist = 'index.cjs index.d.cts index.d.ts index.js LICENSE types.d.cts types.d.ts';
    const expected = [
      'README.md',
      'dist',
      'package.json',
      ...words(dist).map((name) => `dist/${name}`),
    ];
    const packed = join(project, 'node_modules/store-data-client');
    const files = await readdir(packed, { recursive: true });
    expect(files.toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    ['node16', 'node16', ['usage.cts']],
    // For bundlers, .cts files are modules of CommonJS without another resolution.
    ['bundler', 'esnext', []],
  ])(
    'has strict types for moduleResolution %s, also in its README and the example follow-orders',
    async (resolution, module, ofCommonJs) => {
      await cp(join(FOLLOW, 'typescript/follow.ts'), join(project, 'follow.mts'));
      const readme = await writeReadme('ts', '.mts');
      expect(readme.length).toBeGreaterThanOrEqual(2);
      const options = words(
        '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess',
        '--skipLibCheck false --target es2022 --types node --typeRoots',
        `${ROOT}/node_modules/@types --module ${module} --moduleResolution ${resolution}`,
      );
      const files = [...readme, 'usage.mts', 'follow.mts', ...ofCommonJs];
      await runInProject(TSC, [...options, ...files]);
    },
  );

  it('can be required', async () => {
    const code = "console.log(typeof require('store-data-client').createClient)";
    const args = ['--input-type=commonjs', '-e', code];
    expect(await runInProject(process.execPath, args)).toBe('function\n');
  });

  it('runs the first programs of its README and of the guide', async () => {
    await expectFirstPrograms('ts', async (code) => {
      await writeFile(join(project, 'first.ts'), code);
      return runInProject(process.execPath, ['first.ts']);
    });
  });
});

describe('the wheel', () => {
  it('holds the module with its types, and nothing else', async (context) => {
    const { PYTHONPATH } = (await installPython(context)).env;
    const module = await readdir(join(PYTHONPATH, 'store_data_client'));
    expect(module.filter((name) => name !== '__pycache__').toSorted()).toEqual([
      '__init__.py',
      'py.typed',
      'types.py',
    ]);
    expect(await readdir(PYTHONPATH)).toHaveLength(2);
  });

  it('passes mypy --strict, with the programs of its README, for Python 3.10 and later', async (context) => {
    const { ofTools, env } = await installPython(context);
    await cp(join(FOLLOW, 'python/follow.py'), join(project, 'follow.py'));
    const readme = await writeReadme('python', '.py');
    const files = [...readme.slice(0, 2), 'usage.py', 'follow.py'];
    for (const version of ['3.10', '3.13']) {
      const options = words(`--strict --python-version ${version} --cache-dir ${folder}/mypy`);
      const given = { ...ofTools, MYPYPATH: env.PYTHONPATH };
      const args = ['-m', 'mypy', ...options, ...files];
      expect(await runInProject('python3', args, given)).toMatch(/^Success/);
    }
  });

  it('runs the first programs of its README and of the guide', async (context) => {
    const { env } = await installPython(context);
    await expectFirstPrograms('python', (code) => runInProject('python3', ['-c', code], env));
  });
});
