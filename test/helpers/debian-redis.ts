/** The Redis 7.0 of Debian 12, which supports TLS, in the cache. */
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '#shared/errors.ts';
import { debianPackages } from './debian-packages.ts';
import { run } from './run.ts';

/** An environment with that `redis-server` in its PATH, or the reason why it is unavailable. */
export async function debianRedis(): Promise<NodeJS.ProcessEnv | string> {
  try {
    const folder = await debianPackages(['redis-tools', 'liblzf1', 'libjemalloc2']);
    const bin = join(folder, 'usr', 'bin');
    const server = join(bin, 'redis-server');
    // Redis is one program with several names; the server's package has this one.
    if (!existsSync(server)) await symlink('redis-check-rdb', server);
    const env = {
      ...process.env,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      LD_LIBRARY_PATH: join(folder, 'usr', 'lib', 'x86_64-linux-gnu'),
    };
    const version = await run(server, ['--version'], { env });
    return version.includes(' v=7.0.') ? env : `apt has another Redis than 7.0: ${version}`;
  } catch (error) {
    return `apt does not bring Redis here: ${describeError(error)}`;
  }
}
