/** The packages of the clients, packed and installed as integrators do. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { madeOnce } from '#test/made-once.ts';
import { installPythonPackages } from '#test/python-packages.ts';
import { words } from '#test/words.ts';

const run = promisify(execFile);
const CLIENTS = join(import.meta.dirname, '../../../deploy/clients');
const REQUIREMENTS = 'test/deploy/clients/project/requirements.txt';
const HERE = 'test/deploy/clients/packed.ts';
const say = (line: string) => process.stderr.write(`${line}\n`);

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
    const { stdout } = await run('npm', pack, { cwd: source });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    const into = join(folder, 'project');
    await mkdir(into);
    const manifest = { name: 'project', private: true, type: 'module' };
    await writeFile(join(into, 'package.json'), JSON.stringify(manifest));
    const install = words('install --offline --no-audit --no-fund --loglevel=error');
    await run('npm', [...install, join(folder, filename)], { cwd: into });
  });
  await cp(join(installed, 'project'), project, { recursive: true });
}

/** flit_core and mypy. Rejects with the reason if they cannot be had. */
export async function pythonTools(): Promise<string> {
  const wanted = { name: 'store-data-client-tools', requirements: REQUIREMENTS };
  return installPythonPackages(wanted, cacheFolder(process.env), say);
}

/** Makes and installs the wheel. @returns the folder for `PYTHONPATH`. */
export async function installPython(tools: string): Promise<string> {
  const sources = ['deploy/clients/python/**', REQUIREMENTS, HERE];
  const installed = await madeOnce('python-client', sources, async (folder) => {
    const source = join(folder, 'source');
    const filter = (path: string) => !path.endsWith('__pycache__');
    await cp(join(CLIENTS, 'python'), source, { recursive: true, filter });
    const pip = words('-m pip --quiet --disable-pip-version-check');
    const offline = words('--no-deps --no-index');
    const wheel = [...pip, 'wheel', ...offline, '--no-build-isolation', '-w', folder, source];
    await run('python3', wheel, { env: { ...process.env, PYTHONPATH: tools } });
    const made = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (made === undefined) throw new Error('pip made no wheel');
    const into = ['--target', join(folder, 'packages'), join(folder, made)];
    await run('python3', [...pip, 'install', ...offline, ...into]);
  });
  return join(installed, 'packages');
}
