/** The OAuth clients of other languages, as programs: what they need is fetched once and kept in the cache. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { findOnPath } from '#local/stack/program.ts';
import { javaWith } from '#test/java-packages.ts';
import { installPythonPackages } from '#test/python-packages.ts';

const run = promisify(execFile);

/** How a program is run. It reads a task from its input and prints the results. */
export interface Program {
  file: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

const say = (line: string) => process.stderr.write(`${line}\n`);
const folderOf = (language: string) => join(import.meta.dirname, language);

function requireProgram(name: string): string {
  const file = findOnPath(name, process.env);
  if (file === undefined) throw new Error(`${name} is not installed`);
  return file;
}

/** Authlib and requests-oauthlib. Rejects with the reason when Python or its packages are not to be had. */
export async function preparePython(): Promise<(client: string) => Program> {
  const file = requireProgram('python3');
  const cwd = folderOf('python');
  const requirements = join(cwd, 'requirements.txt');
  const cache = cacheFolder(process.env);
  const packages = await installPythonPackages({ name: 'oauth-clients', requirements }, cache, say);
  const env = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
  return (client) => ({ file, args: ['clients.py', client], cwd, env });
}

/** `golang.org/x/oauth2`. Rejects with the reason when Go or its module is not to be had. */
export async function prepareGo(): Promise<Program> {
  const file = requireProgram('go');
  const cwd = folderOf('go');
  await run(file, ['mod', 'download'], { cwd });
  return { file, args: ['run', '-mod=readonly', '.'], cwd, env: process.env };
}

/** Spring Security. Rejects with the reason when Java, Maven or its jars are not to be had. */
export async function prepareSpring(): Promise<Program> {
  requireProgram('mvn');
  const cwd = folderOf('spring');
  const { file, args } = await javaWith({
    title: 'Spring Security 7.1.1',
    name: 'spring-security-7.1.1',
    pom: join(cwd, 'pom.xml'),
    checksums: join(cwd, 'jars.sha256'),
    downloadBytes: 16_000_000,
  });
  return { file, args: [...args, 'Client.java'], cwd, env: process.env };
}
