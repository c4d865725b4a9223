/** A MongoDB that was never told to be a replica set is told so: transactions need one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';
import { readAddress } from '#shared/address.ts';
import { isUnavailable, StoreDataError } from '#shared/errors.ts';

/** The error code of a mongod that has no replica set configuration yet. */
const NOT_YET_INITIALIZED = 94;
const ELECTION_MS = 15_000;

/**
 * Makes the one server of a connection string the primary of its replica set, unless it is in one already.
 * @returns whether it was made now.
 * @throws {StoreDataError} `server_unsuitable` when several servers are named: which of them is for their operator to say.
 */
export async function initiateReplicaSet(uri: string): Promise<boolean> {
  if (await isReplicaSet(uri)) return false;
  const { host, replicaSet } = readUri(uri);
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
    serverSelectionTimeoutMS: 5_000,
  });
  try {
    const admin = client.db('admin');
    try {
      await admin.command({ replSetGetStatus: 1 });
      return false;
    } catch (error) {
      if (!(error instanceof MongoServerError) || error.code !== NOT_YET_INITIALIZED) throw error;
    }
    await admin.command({ replSetInitiate: { _id: replicaSet, members: [{ _id: 0, host }] } });
    for (const end = Date.now() + ELECTION_MS; Date.now() < end; await sleep(100)) {
      const { isWritablePrimary } = await admin.command({ hello: 1 });
      if (isWritablePrimary === true) return true;
    }
    throw new StoreDataError(
      'server_unsuitable',
      `${host} has not become primary within ${ELECTION_MS / 1_000} s`,
    );
  } finally {
    await client.close();
  }
}

/** Whether there is a primary to be found in the ordinary way; a server that awaits its configuration is none. */
async function isReplicaSet(uri: string): Promise<boolean> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 3_000 });
  try {
    const { setName, msg } = await client.db('admin').command({ hello: 1 });
    // The router of a sharded cluster, whose shards are sets.
    return setName !== undefined || msg === 'isdbgrid';
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  } finally {
    await client.close();
  }
}

function readUri(uri: string): { host: string; replicaSet: string } {
  const { scheme, hosts } = readAddress(uri) ?? { scheme: '', hosts: [] };
  const host = scheme === 'mongodb://' && hosts.length === 1 ? hosts[0] : undefined;
  const [, replicaSet] = /[?&]replicaSet=([^&]+)/.exec(uri) ?? [];
  if (host === undefined || replicaSet === undefined) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI must name one server and its replica set, such as mongodb://mongodb:27017/?replicaSet=rs0, for a set to be made',
    );
  }
  return { host, replicaSet };
}
