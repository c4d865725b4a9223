// MongoDB as a part of the stack.
import { MongoClient } from 'mongodb';
import type { PartDefinition } from '../part.ts';
import { awaitPort } from '../wait.ts';
import { locateMongod, mongodArguments } from './program.ts';
import { REPLICA_SET, formReplicaSet } from './replica-set.ts';

const START_LIMIT_MS = 60_000;
const CHECK_LIMIT_MS = 5_000;

/** A replica set of one member; as a cluster of three. */
export const mongodbPart: PartDefinition = {
  name: 'mongodb',
  addressVariable: 'MONGODB_URI',
  imageVariable: 'MONGO_IMAGE',
  portCount: 1,
  clusterSize: 3,
  locateProgram: locateMongod,

  async checkAddress(address) {
    const client = new MongoClient(address, {
      serverSelectionTimeoutMS: CHECK_LIMIT_MS,
      connectTimeoutMS: CHECK_LIMIT_MS,
      socketTimeoutMS: CHECK_LIMIT_MS,
    });
    try {
      const { setName, msg } = await client.db('admin').command({ hello: 1 });
      if (setName === undefined && msg !== 'isdbgrid')
        throw new Error('it is no replica set, and transactions need one');
    } finally {
      await client.close();
    }
  },

  planContainer: ([port = 0]) => ({
    environment: {},
    command: ['mongod', '--bind_ip_all', ...mongodArguments(port)],
    dataPath: '/data/db',
  }),

  async awaitReady(host, ports, signal) {
    await Promise.all(ports.map((port) => awaitPort(host, port, START_LIMIT_MS, signal)));
    await formReplicaSet(host, ports, START_LIMIT_MS, signal);
    // A member is known by its loopback address, so where it is reached by another one the client must not look it up.
    const option = host === '127.0.0.1' ? `replicaSet=${REPLICA_SET}` : 'directConnection=true';
    return `mongodb://${ports.map((port) => `${host}:${port}`).join(',')}/?${option}`;
  },
};
