/** The MongoDB clients: one for the projector, which waits, and one for the query service, which must not. */
import { type Db, MongoClient } from 'mongodb';
import type { Config } from './config.ts';

/**
 * A client for writers: majority writes, and time enough for an election.
 * The caller connects by its first operation and closes it.
 */
export function createWriterClient(config: Config, appName: string): MongoClient {
  return new MongoClient(config.mongodb.uri, {
    appName,
    retryWrites: true,
    writeConcern: { w: 'majority' },
    readConcern: { level: 'majority' },
    serverSelectionTimeoutMS: 5_000,
    connectTimeoutMS: 5_000,
    socketTimeoutMS: 60_000,
    maxPoolSize: 32,
  });
}

/**
 * A client for requests: it finds out within `MONGODB_READ_TIMEOUT_MS` that no server is there. An operation that
 * a frozen server keeps is ended by the caller's deadline; the driver has none.
 */
export function createReaderClient(config: Config, appName: string): MongoClient {
  return new MongoClient(config.mongodb.uri, {
    appName,
    serverSelectionTimeoutMS: config.mongodb.readTimeoutMs,
    connectTimeoutMS: config.mongodb.readTimeoutMs,
    waitQueueTimeoutMS: config.mongodb.readTimeoutMs,
    heartbeatFrequencyMS: 1_000,
    minHeartbeatFrequencyMS: 500,
    maxPoolSize: 64,
    minPoolSize: 2,
  });
}

/**
 * The same database for reads in a snapshot session: the driver lets what a client or database says of reads take the
 * place of the session's snapshot, silently, so here nothing is said.
 */
export function forSnapshots(db: Db): Db {
  // Left out it would be the client's.
  const unsaid: object = { readConcern: undefined };
  return db.client.db(db.databaseName, unsaid);
}
