/** The packages of the clients, packed and installed as integrators do. */
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { madeOnce } from '#test/made-once.ts';
import { run } from '#test/run.ts';
import { words } from '#test/words.ts';
import { prepared, preparePython, settled } from '../../clients/programs.ts';

const CLIENTS = join(import.meta.dirname, '../../../deploy/clients');
const HERE = 'test/deploy/clients/packed.ts';

/** Makes a project with the packed TypeScript client. */
export async function installTypeScript(project: string): Promise<void> {
  const sources = ['deploy/clients/typescript/*', 'LICENSE', 'package-lock.json', HERE];
  const installed = await madeOnce('typescript-client', sources, async (folder) => {
    const source = join(folder, 'source');
    await mkdir(source);
    for (const name of ['package.json', 'README.md'])
      await cp(join(CLIENTS, 'typescript', name), join(source, name));
    await run(process.execPath, [join(CLIENTS, 'typescript/build.ts'), join(source, 'dist')]);
    const pack = words('pack --silent --json --ignore-scripts --pack-destination ..');
    const packed = await run('npm', pack, { cwd: source });
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    const into = join(folder, 'project');
    await mkdir(into);
    const manifest = { name: 'project', private: true, type: 'module' };
    await writeFile(join(into, 'package.json'), JSON.stringify(manifest));
    const install = words('install --offline --no-audit --no-fund --loglevel=error');
    await run('npm', [...install, join(folder, filename)], { cwd: into });
  });
  await cp(join(installed, 'project'), project, { recursive: true });
}

const FOLLOW = join(import.meta.dirname, '../../../docs/examples/follow-orders');

/** Sets up the example follow-orders. @returns its command, and more variables for it. */
export const FOLLOWERS = {
  async TypeScript(_context: TestContext, project: string) {
    await installTypeScript(project);
    const program = join(project, 'follow.ts');
    await cp(join(FOLLOW, 'typescript/follow.ts'), program);
    return {
      command: [process.execPath, '--disable-warning=ExperimentalWarning', program],
      env: {},
    };
  },
  async Python(context: TestContext) {
    const { env } = await installPython(context);
    return { command: ['python3', join(FOLLOW, 'python/follow.py')], env };
  },
};
export const LANGUAGES = Object.keys(FOLLOWERS) as (keyof typeof FOLLOWERS)[];

/** flit_core and mypy. */
const tools = settled(
  preparePython(join(import.meta.dirname, 'project'), 'store-data-client-tools'),
);

/**
 * Makes and installs the wheel. Skips the test without Python or a tool.
 * @returns the variables with which Python finds the package, and those for the tools.
 */
export async function installPython(context: TestContext) {
  const { env: ofTools } = await prepared(tools, context);
  const sources = ['deploy/clients/python/**', 'test/deploy/clients/project/*.txt', HERE];
  const installed = await madeOnce('python-client', sources, async (folder) => {
    const source = join(folder, 'source');
    const filter = (path: string) => !path.endsWith('__pycache__');
    await cp(join(CLIENTS, 'python'), source, { recursive: true, filter });
    const pip = words('-m pip --quiet --disable-pip-version-check');
    const offline = words('--no-deps --no-index');
    const wheel = [...pip, 'wheel', ...offline, '--no-build-isolation', '-w', folder, source];
    await run('python3', wheel, { env: ofTools });
    const made = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (made === undefined) throw new Error('pip made no wheel');
    const into = ['--target', join(folder, 'packages'), join(folder, made)];
    await run('python3', [...pip, 'install', ...offline, ...into]);
  });
  return { ofTools, env: { ...ofTools, PYTHONPATH: join(installed, 'packages') } };
}
