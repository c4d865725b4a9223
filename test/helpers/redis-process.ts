/**
 * A redis-server for one test, which can be killed, filled, frozen and restored from a snapshot.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { dataFolderAt } from '#local/stack/part.ts';
import { type GuardedProcess, startGuard, startGuarded } from '#local/stack/process.ts';
import { freePorts } from '#local/stack/program.ts';
import { locateRedis } from '#local/stack/redis/redis.ts';

export interface RedisProcess extends AsyncDisposable {
  url: string;
  port: number;
  /** The test's connection, which reconnects after a restart. */
  client: Redis;
  /** The bytes of an RDB snapshot. */
  snapshot: () => Promise<Buffer>;
  kill: () => Promise<void>;
  /** Restarts it on the same port after a kill, from a snapshot or empty. */
  start: (snapshot?: Buffer) => Promise<void>;
  close: () => Promise<void>;
}

/** The shared folder and guardian of the servers of one test. */
export interface RedisHome {
  /**
   * `start` runs redis-server with additional arguments, `sentinel` a sentinel with a settings
   * file.
   */
  launch: (
    port: number,
    settings: readonly string[],
    sentinel?: readonly string[],
  ) => Promise<GuardedProcess>;
  /** The folder of the server at a port. */
  folderOf: (port: number) => string;
  close: () => Promise<void>;
}

/** @param env the environment with `redis-server` in its PATH. */
export async function openRedisHome(env: NodeJS.ProcessEnv = process.env): Promise<RedisHome> {
  const home = await mkdtemp(join(tmpdir(), 'store-data-redis-'));
  const guard = startGuard();
  await guard.hold('path', home);
  const folder = dataFolderAt(home);
  const context = { env, log: () => undefined, guard, folder, keepData: false };
  const program = await locateRedis(context);
  await mkdir(folder.logs, { recursive: true });
  const folderOf = (port: number) => join(folder.part('redis'), String(port));
  return {
    folderOf,
    async launch(port, settings, sentinel) {
      const data = folderOf(port);
      await mkdir(data, { recursive: true });
      const logFile = join(folder.logs, `redis-${port}.log`);
      const command = await program.prepare(data, [port], logFile);
      if (sentinel === undefined) {
        return startGuarded(guard, { ...command, args: [...command.args, ...settings] }, logFile);
      }
      const file = join(data, 'sentinel.conf');
      const lines = ['bind 127.0.0.1', `port ${port}`, `dir ${data}`, ...sentinel];
      await writeFile(file, lines.join('\n'));
      return startGuarded(guard, { ...command, args: [file, '--sentinel'] }, logFile);
    },
    async close() {
      await guard.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

export interface RedisProcessOptions {
  home?: RedisHome;
  port?: number;
  /** Options of the test's connection: its user if the default user is off, and TLS. */
  client?: Pick<RedisOptions, 'username' | 'password' | 'tls'>;
}

/** Starts a server; `settings` are additional arguments. Several servers can share a home. */
export async function startRedisProcess(
  settings: readonly string[] = [],
  { home, port: wanted, client: options = {} }: RedisProcessOptions = {},
): Promise<RedisProcess> {
  const shared = home ?? (await openRedisHome());
  const port = wanted ?? (await freePorts(1))[0] ?? 0;
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { ...options, lazyConnect: true, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  let held: GuardedProcess | null = null;

  const start = async (snapshot?: Buffer) => {
    const file = join(shared.folderOf(port), 'dump.rdb');
    await rm(file, { force: true });
    if (snapshot !== undefined) await writeFile(file, snapshot);
    held = await shared.launch(port, settings);
    if (client.status === 'wait') await client.connect().catch(() => undefined);
    // The client queues commands until the server has loaded its snapshot.
    await client.ping();
  };
  const kill = async () => {
    await held?.stop(0);
    held = null;
  };
  await start();
  const close = async () => {
    client.disconnect();
    await kill();
    if (home === undefined) await shared.close();
  };
  return {
    url,
    port,
    client,
    start,
    kill,
    async snapshot() {
      await client.save();
      return readFile(join(shared.folderOf(port), 'dump.rdb'));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
