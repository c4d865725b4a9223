/**
 * The packages of the clients, packed and installed in a project of their own, as integrators do.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { installPythonPackages } from '#test/python-packages.ts';
import { words } from '#test/words.ts';

const run = promisify(execFile);
export const CLIENTS = join(import.meta.dirname, '../../../deploy/clients');
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Packs the TypeScript client. Several tests may do so at once. @returns the tarball */
export async function packTypeScript(folder: string): Promise<string> {
  const source = join(folder, 'typescript');
  await mkdir(source, { recursive: true });
  for (const name of ['package.json', 'README.md'])
    await cp(join(CLIENTS, 'typescript', name), join(source, name));
  await run(process.execPath, [join(CLIENTS, 'typescript/build.ts'), join(source, 'dist')]);
  const options = words('pack --silent --json --ignore-scripts --pack-destination');
  const { stdout } = await run('npm', [...options, folder], { cwd: source });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(folder, filename);
}

/** Installs the tarball in a project. */
export async function installTypeScript(tarball: string, project: string): Promise<void> {
  await mkdir(project, { recursive: true });
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  );
  await run('npm', [...words('install --offline --no-audit --no-fund --loglevel=error'), tarball], {
    cwd: project,
  });
}

/** flit_core and mypy. Rejects with the reason if they cannot be had. */
export async function pythonTools(): Promise<string> {
  const requirements = join(import.meta.dirname, 'project/requirements.txt');
  return installPythonPackages(
    { name: 'store-data-client-tools', requirements },
    cacheFolder(process.env),
    say,
  );
}

/** Makes the wheel. @returns its path */
export async function packPython(tools: string, folder: string): Promise<string> {
  const source = join(folder, 'python');
  await cp(join(CLIENTS, 'python'), source, {
    recursive: true,
    filter: (path) => !path.endsWith('__pycache__'),
  });
  const options = words(
    '-m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation -w',
  );
  await run('python3', [...options, folder, source], {
    env: { ...process.env, PYTHONPATH: tools },
  });
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip made no wheel');
  return join(folder, wheel);
}

/** Installs the wheel in a folder for `PYTHONPATH`. */
export async function installPython(python: string, wheel: string, into: string): Promise<void> {
  const options = words(
    '-m pip install --quiet --disable-pip-version-check --no-deps --no-index --target',
  );
  await run(python, [...options, into, wheel]);
}
