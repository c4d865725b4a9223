// Where fetched programs run, and where they are kept.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { StackError } from '../errors.ts';

/** Refuses a machine that the fetched programs are not made for. */
export function requirePlatform(platform: string = process.platform, arch: string = process.arch): void {
  if (platform === 'linux' && arch === 'x64') return;
  throw new StackError(
    `servers can be fetched for Linux on x86_64 only, and this is ${platform} on ${arch}: ` +
      'start a Docker engine, or give addresses in KAFKA_BROKERS, MONGODB_URI and REDIS_URL',
  );
}

/** The folder that fetched programs are kept in, outside the repository. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const { STORE_DATA_CACHE: own, XDG_CACHE_HOME: shared } = env;
  if (own !== undefined && own !== '') return own;
  return join(shared !== undefined && shared !== '' ? shared : join(homedir(), '.cache'), 'store-data');
}
