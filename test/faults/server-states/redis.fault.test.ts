/**
 * The states of Redis between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { debianPackages } from '#test/debian-packages.ts';
import { eventually } from '#test/eventually.ts';
import { useFolder } from '#test/folder.ts';
import { startRedisCluster } from '#test/redis-cluster.ts';
import { openRedisHome, type RedisProcess, startRedisProcess } from '#test/redis-process.ts';
import { followsItsMaster, startRedisSentinels } from '#test/redis-sentinels.ts';
import { startRedisProxy } from '#test/server-proxies.ts';
import { times } from '#test/times.ts';
import { useStates } from './traffic.ts';

/** The library that changes a clock. */
const FAKETIME = await debianPackages(['libfaketime']).then(
  (packages) => join(packages, 'usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'),
  (error: unknown) => {
    process.stderr.write(`skipped, the clock of Redis: ${String(error)}\n`);
    return null;
  },
);
describe('a Redis server', () => {
  const folder = useFolder();
  const { found, row } = useStates('Redis', async () => {
    const server = await startRedisProcess();
    // The services have a user of their own, so that its rights can be withdrawn.
    await server.client.call('ACL', 'SETUSER', 'services', 'on', '>secret', '~*', '&*', '+@all');
    const url = `redis://services:secret@127.0.0.1:${server.port}`;
    return { server, settings: { REDIS_URL: url }, close: server.close };
  });
  const redis = () => found.servers.server.client;
  /** Runs commands, in lines. */
  const tell = async (...lines: string[]) => {
    for (const line of lines) {
      const [command = '', ...words] = line.split(' ');
      await redis().call(command, words);
    }
  };

  for (const [state, begin, end] of [
    ['CLIENT PAUSE', ['CLIENT PAUSE 3000'], ['PING']],
    ['is full (-OOM)', ['CONFIG SET maxmemory 100kb'], ['CONFIG SET maxmemory 0']],
    // Nothing listens there.
    ['is a replica (-READONLY)', ['REPLICAOF 127.0.0.1 1'], ['REPLICAOF NO ONE']],
    [
      'is a replica without its master (-MASTERDOWN)',
      ['CONFIG SET replica-serve-stale-data no', 'REPLICAOF 127.0.0.1 1'],
      ['REPLICAOF NO ONE', 'CONFIG SET replica-serve-stale-data yes'],
    ],
    [
      'has another eviction policy',
      ['CONFIG SET maxmemory-policy allkeys-lru'],
      ['CONFIG SET maxmemory-policy noeviction'],
    ],
    ['withdraws all rights (ACL)', ['ACL SETUSER services -@all'], ['ACL SETUSER services +@all']],
    [
      'withdraws the right to scripts (ACL)',
      ['ACL SETUSER services -evalsha -eval'],
      ['ACL SETUSER services +evalsha +eval'],
    ],
  ] as const) {
    row(state, async () => {
      await tell(...begin);
      return () => tell(...end);
    });
  }

  row('is busy with a script (-BUSY)', async () => {
    await tell('CONFIG SET lua-time-limit 50');
    const other = new Redis(found.servers.server.url, { lazyConnect: true });
    other.on('error', () => undefined);
    const busy = other.call('EVAL', 'while true do end', 0).catch(() => undefined);
    return async () => {
      await tell('SCRIPT KILL');
      await busy;
      other.disconnect();
    };
  });

  row('cannot save (-MISCONF)', async () => {
    const gone = join(folder, 'gone');
    await mkdir(gone);
    await redis().config('SET', 'dir', gone);
    await redis().config('SET', 'save', '3600 1');
    await rm(gone, { recursive: true });
    const save = async () => {
      await tell('BGSAVE');
      await eventually('it has tried', async () =>
        (await redis().info('persistence')).includes('rdb_bgsave_in_progress:0'),
      );
    };
    await save();
    return async () => {
      await mkdir(gone);
      await redis().config('SET', 'dir', folder);
      await save();
      await redis().config('SET', 'save', '');
    };
  });

  row(
    'loads its data (-LOADING)',
    async () => {
      // A thousandth of a second for each key.
      await tell('DEBUG POPULATE 4000 filling', 'CONFIG SET key-load-delay 1000');
      const reloading = tell('DEBUG RELOAD').catch(() => undefined);
      return async () => {
        await reloading;
        await tell('CONFIG SET key-load-delay 0');
        await redis().eval("for i = 0, 3999 do redis.call('del', 'filling:' .. i) end", 0);
      };
    },
    { lastsMs: 2_000 },
  );

  row('has too few connections', async () => {
    await tell('CONFIG SET maxclients 5', 'CLIENT KILL TYPE normal SKIPME yes');
    const { url } = found.servers.server;
    const others = times(4, () => new Redis(url, { retryStrategy: () => 20 }));
    for (const other of others) other.on('error', () => undefined);
    return async () => {
      for (const other of others) other.disconnect();
      await tell('CONFIG SET maxclients 10000');
    };
  });
});

describe('a Redis server behind one address', () => {
  const { found, row } = useStates('Redis', async () => {
    const first = await startRedisProcess();
    const second = await startRedisProcess(['--replicaof', '127.0.0.1', String(first.port)]);
    await followsItsMaster(second);
    const proxy = await startRedisProxy(first.url);
    const close = () => Promise.all([proxy, first, second].map((one) => one.close()));
    return { first, second, proxy, settings: { REDIS_URL: proxy.url }, close };
  });
  const handOver = async (from: RedisProcess, to: RedisProcess) => {
    const { proxy } = found.servers;
    await from.client.call('FAILOVER', 'TO', '127.0.0.1', to.port, 'TIMEOUT', 5_000, 'FORCE');
    await followsItsMaster(from);
    proxy.retarget({ host: '127.0.0.1', port: to.port });
    await proxy.cut();
    await proxy.restore();
  };

  row('hands over by FAILOVER', async () => {
    await handOver(found.servers.first, found.servers.second);
    return () => handOver(found.servers.second, found.servers.first);
  });
});

describe.skipIf(FAKETIME === null)('a Redis server whose clock goes back', () => {
  const folder = useFolder();
  const file = () => join(folder, 'clock');
  const { found, row } = useStates('Redis', async () => {
    await writeFile(file(), '+3600\n');
    const home = await openRedisHome({
      ...process.env,
      LD_PRELOAD: FAKETIME ?? '',
      FAKETIME_TIMESTAMP_FILE: file(),
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    });
    const server = await startRedisProcess([], { home });
    return {
      server,
      settings: { REDIS_URL: server.url, QUOTA_WINDOW_SECONDS: '5', QUOTA_REQUESTS: '500' },
      async close() {
        await server.close();
        await home.close();
      },
    };
  });

  row(
    'its clock goes back by an hour: no store is refused for longer than a window',
    async () => {
      const [seconds] = (await found.servers.server.client.time()) as unknown as string[];
      if (Number(seconds) < Date.now() / 1_000 + 3_000)
        throw new Error('the clock of Redis is not an hour ahead');
      await writeFile(file(), '+0\n');
      if ((await found.traffic.flood(600)) === 0) throw new Error('the store is within its quota');
      return () => Promise.resolve();
    },
    // Of the store that is beyond its quota, until the window is over.
    { also: [429], lastsMs: 5_000 },
  );
});

describe('a Redis with sentinels', () => {
  const { found, row } = useStates('Redis', () => startRedisSentinels());

  row(
    'the replica is promoted (SENTINEL FAILOVER)',
    async () => {
      await found.servers.promote();
      return () => followsItsMaster(found.servers.master);
    },
    { lastsMs: 5_000 },
  );
});

describe('a Redis Cluster', () => {
  const { found, row } = useStates('Redis', async () => {
    const cluster = await startRedisCluster();
    return { ...cluster, settings: { REDIS_URL: cluster.url } };
  });

  row('every master hands over to its replica (CLUSTER FAILOVER)', async () => {
    for (const { master, replica } of found.servers.shards) {
      await followsItsMaster(replica);
      await replica.client.cluster('FAILOVER');
      await followsItsMaster(master);
    }
    return () => Promise.resolve();
  });
});
