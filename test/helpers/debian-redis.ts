/** Redis as Debian 12 packages it (7.0), kept in the cache: another release than the one that tests run on, which has TLS. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';
import { describeError } from '#shared/errors.ts';

const run = promisify(execFile);
const PACKAGES = ['redis-tools', 'liblzf1', 'libjemalloc2'];

/** The environment in which `redis-server` is that one, or the reason why it is not to be had. */
export async function debianRedis(): Promise<NodeJS.ProcessEnv | string> {
  const cache = cacheFolder(process.env);
  const folder = join(cache, 'redis-of-debian');
  try {
    if (!existsSync(folder)) await fetchInto(cache, folder);
    const bin = join(folder, 'usr', 'bin');
    const env = {
      ...process.env,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      LD_LIBRARY_PATH: join(folder, 'usr', 'lib', 'x86_64-linux-gnu'),
    };
    const { stdout } = await run(join(bin, 'redis-server'), ['--version'], { env });
    return stdout.includes(' v=7.0.') ? env : `apt has another Redis than 7.0: ${stdout.trim()}`;
  } catch (error) {
    return `apt does not bring Redis here: ${describeError(error)}`;
  }
}

async function fetchInto(cache: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, '.fetching-redis-of-debian-'));
  try {
    await run('apt-get', ['download', ...PACKAGES], { cwd: staging });
    const whole = join(staging, 'whole');
    for (const name of await readdir(staging)) await run('dpkg', ['-x', join(staging, name), whole]);
    // It is one program by several names; the package of the server brings this one.
    await symlink('redis-check-rdb', join(whole, 'usr', 'bin', 'redis-server'));
    await rename(whole, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}
