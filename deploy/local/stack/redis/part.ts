// Redis as a part of the stack.
import { Redis } from 'ioredis';
import { readRedisAddress } from '#shared/redis-address.ts';
import type { PartDefinition } from '../part.ts';
import { awaitPort, retryUntil } from '../wait.ts';
import { formCluster } from './cluster.ts';
import { locateRedis, redisArguments } from './program.ts';

const START_LIMIT_MS = 30_000;
const CHECK_LIMIT_MS = 5_000;
const CONTAINER_DATA = '/data';

/** One Redis server; as a cluster three masters with a replica of each. */
export const redisPart: PartDefinition = {
  name: 'redis',
  addressVariable: 'REDIS_URL',
  imageVariable: 'REDIS_IMAGE',
  portCount: 1,
  clusterSize: 6,
  locateProgram: locateRedis,

  async checkAddress(address) {
    const read = readRedisAddress(address);
    if (read === null) throw new Error('it does not say where Redis is');
    // Of several, one that answers will do.
    await Promise.any(read.nodes.map((node) => ping(read.urlOf(node)))).catch(firstReason);
  },

  planContainer: ([port = 0], _host, keepData) => ({
    environment: {},
    command: [
      'redis-server',
      '--bind',
      '0.0.0.0',
      '--protected-mode',
      'no',
      ...redisArguments(port, keepData),
    ],
    // It writes where it is started.
    workingFolder: CONTAINER_DATA,
    dataPath: CONTAINER_DATA,
  }),

  async awaitReady(host, ports, signal) {
    const [address = '', ...others] = ports.map((port) => `redis://${host}:${port}`);
    await Promise.all(ports.map((port) => awaitPort(host, port, START_LIMIT_MS, signal)));
    // While it loads kept data it refuses every command, PING too.
    await retryUntil(START_LIMIT_MS, signal, () => ping(address));
    return others.length === 0 ? address : formCluster(ports, signal);
  },
};

function firstReason(error: unknown): never {
  throw error instanceof AggregateError ? error.errors[0] : error;
}

async function ping(address: string): Promise<void> {
  const redis = new Redis(address, {
    lazyConnect: true,
    connectTimeout: CHECK_LIMIT_MS,
    commandTimeout: CHECK_LIMIT_MS,
    retryStrategy: null,
    enableReadyCheck: false,
  });
  // Without a listener ioredis prints what the rejected command says anyway.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
