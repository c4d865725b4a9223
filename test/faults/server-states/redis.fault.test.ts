/**
 * The states of Redis between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { debianPackages } from '#test/debian-packages.ts';
import { useFolder } from '#test/folder.ts';
import { startRedisCluster } from '#test/redis-cluster.ts';
import { openRedisHome, type RedisProcess, startRedisProcess } from '#test/redis-process.ts';
import { followsItsMaster, startRedisSentinels } from '#test/redis-sentinels.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { useStates } from './traffic.ts';

/** The library that changes a clock. */
const FAKETIME = await debianPackages(['libfaketime']).then(
  (packages) => join(packages, 'usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'),
  (error: unknown) => {
    process.stderr.write(`skipped, the clock of Redis: ${String(error)}\n`);
    return null;
  },
);
/** Nothing listens there. */
const NOWHERE = ['127.0.0.1', '1'] as const;

describe('a Redis server', () => {
  const folder = useFolder();
  const { found, row } = useStates('Redis', async () => {
    const server = await startRedisProcess();
    // The services have a user of their own, so that its rights can be withdrawn.
    await server.client.call('ACL', 'SETUSER', 'services', 'on', '>secret', '~*', '&*', '+@all');
    const url = `redis://services:secret@127.0.0.1:${server.port}`;
    return { server, settings: { REDIS_URL: url }, close: () => server.close() };
  });
  const redis = () => found.servers.server.client;
  const set = async (...settings: (readonly [string, string])[]) => {
    for (const [name, value] of settings) await redis().config('SET', name, value);
  };

  row('CLIENT PAUSE', async () => {
    await redis().call('CLIENT', 'PAUSE', 3_000);
    return async () => void (await redis().ping());
  });

  row('is busy with a script (-BUSY)', async () => {
    await set(['lua-time-limit', '50']);
    const other = new Redis(found.servers.server.url, { lazyConnect: true });
    other.on('error', () => undefined);
    const busy = other.call('EVAL', 'while true do end', 0).catch(() => undefined);
    return async () => {
      await redis().call('SCRIPT', 'KILL');
      await busy;
      other.disconnect();
    };
  });

  row('is full (-OOM)', async () => {
    await set(['maxmemory', '100kb']);
    return () => set(['maxmemory', '0']);
  });

  row('is a replica (-READONLY)', async () => {
    await redis().replicaof(...NOWHERE);
    return async () => void (await redis().replicaof('NO', 'ONE'));
  });

  row('is a replica without its master (-MASTERDOWN)', async () => {
    await set(['replica-serve-stale-data', 'no']);
    await redis().replicaof(...NOWHERE);
    return async () => {
      await redis().replicaof('NO', 'ONE');
      await set(['replica-serve-stale-data', 'yes']);
    };
  });

  row('cannot save (-MISCONF)', async () => {
    const gone = join(folder, 'gone');
    await mkdir(gone);
    await set(['dir', gone], ['save', '3600 1'], ['stop-writes-on-bgsave-error', 'yes']);
    await rm(gone, { recursive: true });
    const bgsave = async () => {
      await redis().bgsave();
      for (;;) {
        const info = await redis().info('persistence');
        if (info.includes('rdb_bgsave_in_progress:0')) return;
      }
    };
    await bgsave();
    return async () => {
      await mkdir(gone);
      await set(['dir', folder]);
      await bgsave();
      await set(['save', '']);
    };
  });

  row(
    'loads its data (-LOADING)',
    async () => {
      const fill = redis().pipeline();
      for (let key = 0; key < 4_000; key += 1) fill.set(`filling:${key}`, 'x');
      await fill.exec();
      // A thousandth of a second for each key.
      await set(['key-load-delay', '1000']);
      const reloading = redis()
        .call('DEBUG', 'RELOAD')
        .catch(() => undefined);
      return async () => {
        await reloading;
        await set(['key-load-delay', '0']);
        await redis().eval("for i = 0, 3999 do redis.call('del', 'filling:' .. i) end", 0);
      };
    },
    { lastsMs: 2_000 },
  );

  row('has another eviction policy', async () => {
    await set(['maxmemory-policy', 'allkeys-lru']);
    return () => set(['maxmemory-policy', 'noeviction']);
  });

  row('withdraws all rights (ACL)', async () => {
    await redis().call('ACL', 'SETUSER', 'services', '-@all');
    return async () => void (await redis().call('ACL', 'SETUSER', 'services', '+@all'));
  });

  row('withdraws the right to scripts (ACL)', async () => {
    await redis().call('ACL', 'SETUSER', 'services', '-evalsha', '-eval');
    return async () => void (await redis().call('ACL', 'SETUSER', 'services', '+evalsha', '+eval'));
  });

  row('has too few connections', async () => {
    const before = await redis().config('GET', 'maxclients');
    await set(['maxclients', '5']);
    await redis().call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const others = Array.from(
      { length: 4 },
      () => new Redis(found.servers.server.url, { retryStrategy: () => 20 }),
    );
    for (const other of others) other.on('error', () => undefined);
    return async () => {
      for (const other of others) other.disconnect();
      await set(['maxclients', before[1] ?? '10000']);
    };
  });
});

describe('a Redis server behind one address', () => {
  const { found, row } = useStates('Redis', async () => {
    const home = await openRedisHome();
    const first = await startRedisProcess([], { home });
    const second = await startRedisProcess(['--replicaof', '127.0.0.1', String(first.port)], {
      home,
    });
    await followsItsMaster(second);
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: first.port });
    return {
      first,
      second,
      proxy,
      settings: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
      async close() {
        await proxy.close();
        await Promise.all([first, second].map((server) => server.close()));
        await home.close();
      },
    };
  });
  const handOver = async (from: RedisProcess, to: RedisProcess) => {
    await from.client.call('FAILOVER', 'TO', '127.0.0.1', to.port, 'TIMEOUT', 5_000, 'FORCE');
    await followsItsMaster(from);
    found.servers.proxy.retarget({ host: '127.0.0.1', port: to.port });
    await found.servers.proxy.cut();
    await found.servers.proxy.restore();
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
    const late = {
      LD_PRELOAD: FAKETIME ?? '',
      FAKETIME_TIMESTAMP_FILE: file(),
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
    const home = await openRedisHome({ ...process.env, ...late });
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
