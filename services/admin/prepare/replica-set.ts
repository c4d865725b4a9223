/** A MongoDB that was never told to be a replica set is told so: transactions need one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoServerError } from 'mongodb';
import { readAddress, shownAddress } from '#shared/address.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { createWriterClient } from '#shared/mongodb.ts';

/** The error code of a mongod that has no replica set configuration yet. */
const NOT_YET_INITIALIZED = 94;
const ELECTION_MS = 15_000;

/**
 * Makes the one server of a connection string the primary of its replica set, unless it is in one already.
 * @returns whether it was made now.
 * @throws {StoreDataError} `environment_unavailable` when none of several servers is in a set: which of them form it is for their operator to say.
 */
export async function initiateReplicaSet({ mongodb }: Pick<Config, 'mongodb'>): Promise<boolean> {
  const missing = await replicaSetMissing({ mongodb });
  if (missing === null) return false;
  const { host, replicaSet } = readUri(mongodb.uri, missing);
  const uri = mongodb.uri.replace(/([?&])replicaSet=[^&]*&?/, '$1');
  const client = createWriterClient({ mongodb: { ...mongodb, uri } }, 'prepare', { directConnection: true });
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

/** Why no primary is found in the ordinary way, `null` where one is; a server that awaits its configuration is none. */
async function replicaSetMissing(config: Pick<Config, 'mongodb'>): Promise<Error | null> {
  const client = createWriterClient(config, 'prepare', { serverSelectionTimeoutMS: 3_000 });
  try {
    const { setName, msg } = await client.db('admin').command({ hello: 1 });
    // The router of a sharded cluster, whose shards are sets.
    const isThere = setName !== undefined || msg === 'isdbgrid';
    return isThere ? null : new Error('the server is in no replica set');
  } catch (error) {
    if (error instanceof Error && isUnavailable(error)) return error;
    throw error;
  } finally {
    await client.close();
  }
}

function readUri(uri: string, missing: Error): { host: string; replicaSet: string } {
  const { scheme, hosts } = readAddress(uri) ?? { scheme: '', hosts: [] };
  const host = scheme === 'mongodb://' && hosts.length === 1 ? hosts[0] : undefined;
  if (host === undefined) {
    throw new StoreDataError(
      'environment_unavailable',
      `MongoDB cannot be reached at ${shownAddress(uri)}: ${describeError(missing)}; servers that form no replica set yet need rs.initiate() first`,
      { cause: missing },
    );
  }
  const [, replicaSet] = /[?&]replicaSet=([^&]+)/.exec(uri) ?? [];
  if (replicaSet === undefined) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI must name the replica set that the server is to form, such as mongodb://mongodb:27017/?replicaSet=rs0',
    );
  }
  return { host, replicaSet };
}
