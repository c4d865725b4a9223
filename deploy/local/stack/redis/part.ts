// Redis as a part of the stack.
import { Redis } from 'ioredis';
import type { PartDefinition } from '../part.ts';
import { awaitPort, retryUntil } from '../wait.ts';
import { locateRedis, redisArguments } from './program.ts';

const START_LIMIT_MS = 30_000;
const CHECK_LIMIT_MS = 5_000;
const CONTAINER_DATA = '/data';

/** One Redis server. */
export const redisPart: PartDefinition = {
  name: 'redis',
  addressVariable: 'REDIS_URL',
  imageVariable: 'REDIS_IMAGE',
  portCount: 1,
  locateProgram: locateRedis,
  checkAddress: ping,

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

  async awaitReady(host, port, signal) {
    const address = `redis://${host}:${port}`;
    await awaitPort(host, port, START_LIMIT_MS, signal);
    // While it loads kept data it refuses every command, PING too.
    await retryUntil(START_LIMIT_MS, signal, () => ping(address));
    return address;
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
  // Without a listener ioredis prints what the rejected command says anyway.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
