/** A redis-server of one test's own, which may be killed, filled, frozen and brought back from any snapshot. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { dataFolderAt } from '#local/stack/folder/data-folder.ts';
import { startGuard } from '#local/stack/program/guard.ts';
import { type GuardedProcess, startGuarded } from '#local/stack/program/guarded-process.ts';
import { freePorts } from '#local/stack/program/ports.ts';
import { locateRedis } from '#local/stack/redis/program.ts';

export interface RedisProcess {
  url: string;
  port: number;
  /** The test's own connection; it finds its way back after a restart. */
  client: Redis;
  /** What is in it, as the bytes of a snapshot. */
  snapshot: () => Promise<Buffer>;
  kill: () => Promise<void>;
  /** Starts it again on the same port after it was killed: from a snapshot, or empty. */
  start: (snapshot?: Buffer) => Promise<void>;
  close: () => Promise<void>;
}

/** Starts a server; `settings` are arguments of redis-server that come after ours. */
export async function startRedisProcess(settings: readonly string[] = []): Promise<RedisProcess> {
  const home = await mkdtemp(join(tmpdir(), 'store-data-redis-'));
  const guard = startGuard();
  await guard.hold('path', home);
  const folder = dataFolderAt(home);
  const context = { env: process.env, log: () => undefined, guard, folder, keepData: false };
  const program = await locateRedis(context);
  const data = folder.part('redis');
  await mkdir(data, { recursive: true });
  await mkdir(folder.logs, { recursive: true });
  const [port = 0] = await freePorts(1);
  const logFile = folder.logFile('redis');
  const command = await program.prepare(data, [port], logFile);
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  let held: GuardedProcess | null = null;

  const start = async (snapshot?: Buffer) => {
    const file = join(data, 'dump.rdb');
    await rm(file, { force: true });
    if (snapshot !== undefined) await writeFile(file, snapshot);
    held = await startGuarded(guard, { ...command, args: [...command.args, ...settings] }, logFile);
    if (client.status === 'wait') await client.connect().catch(() => undefined);
    // Commands wait in the client's queue until the server has loaded its snapshot.
    await client.ping();
  };
  const kill = async () => {
    await held?.stop(0);
    held = null;
  };
  await start();
  return {
    url,
    port,
    client,
    start,
    kill,
    async snapshot() {
      await client.save();
      return readFile(join(data, 'dump.rdb'));
    },
    async close() {
      client.disconnect();
      await kill();
      await guard.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
