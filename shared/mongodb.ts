/** The MongoDB clients: the projector waits, the query service must not; and how busy their connections are. */
import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { readPassword } from './config/files.ts';
import type { Config } from './config.ts';
import type { metricFactory } from './process-metrics.ts';

/** Majority writes, and time for an election. @param more options that replace ours. */
export function createWriterClient(
  config: Pick<Config, 'mongodb'>,
  appName: string,
  more: MongoClientOptions = {},
): MongoClient {
  return new MongoClient(config.mongodb.uri, {
    ...securityOf(config.mongodb),
    appName,
    retryWrites: true,
    writeConcern: { w: 'majority' },
    readConcern: { level: 'majority' },
    serverSelectionTimeoutMS: 5_000,
    // The monitor's limit too: beyond it every connection is closed, whatever it is used for.
    connectTimeoutMS: Math.max(5_000, config.mongodb.readTimeoutMs),
    socketTimeoutMS: 60_000,
    maxPoolSize: 32,
    ...more,
  });
}

/** Finds out within `MONGODB_READ_TIMEOUT_MS` that no server is there. A connection whose reply is overdue is closed. */
export function createReaderClient(config: Pick<Config, 'mongodb'>, appName: string): MongoClient {
  return new MongoClient(config.mongodb.uri, {
    ...securityOf(config.mongodb),
    appName,
    serverSelectionTimeoutMS: config.mongodb.readTimeoutMs,
    connectTimeoutMS: config.mongodb.readTimeoutMs,
    waitQueueTimeoutMS: config.mongodb.readTimeoutMs,
    socketTimeoutMS: config.mongodb.readTimeoutMs,
    heartbeatFrequencyMS: 1_000,
    minHeartbeatFrequencyMS: 500,
    // Otherwise it would be asked for its latency besides, as often. A new primary is looked for as soon as a read has failed.
    serverMonitoringMode: 'poll',
    maxPoolSize: 64,
    minPoolSize: 2,
  });
}

/** What a client or database says of reads would take the place of a session's snapshot, silently: so here nothing is said. */
export function forSnapshots(db: Db): Db {
  // Left out it would be the client's.
  const unsaid: object = { readConcern: undefined };
  return db.client.db(db.databaseName, unsaid);
}

function securityOf(settings: Config['mongodb']): MongoClientOptions {
  const { username, tls } = settings;
  const password = readPassword(settings);
  return {
    ...(username === null || password === null ? {} : { auth: { username, password } }),
    ...(tls.caFile === null ? {} : { tls: true, tlsCAFile: tls.caFile }),
    ...(tls.certKeyFile === null ? {} : { tls: true, tlsCertificateKeyFile: tls.certKeyFile }),
  };
}

export function poolMetrics({ gauge, histogram }: Pick<ReturnType<typeof metricFactory>, 'gauge' | 'histogram'>) {
  return {
    inUse: gauge('store_data_mongodb_connections_in_use', 'Connections to MongoDB on which something is under way'),
    waiting: gauge('store_data_mongodb_connections_awaited', 'Operations that wait for a connection to MongoDB'),
    seconds: histogram(
      'store_data_mongodb_seconds',
      'Seconds that a command to MongoDB takes, once it has a connection',
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    ),
  };
}

/** A connection is taken for one command, so this times commands without the monitoring of the driver, which copies each of them. */
export function watchPool(client: MongoClient, { inUse, waiting, seconds }: ReturnType<typeof poolMetrics>): void {
  const since = new Map<string, number>();
  const nameOf = ({ address, connectionId }: { address: string; connectionId: number | '<monitor>' }) =>
    `${address}/${connectionId}`;
  client.on('connectionCheckOutStarted', () => waiting.inc());
  client.on('connectionCheckOutFailed', () => waiting.dec());
  client.on('connectionCheckedOut', (event) => {
    waiting.dec();
    inUse.inc();
    since.set(nameOf(event), performance.now());
  });
  client.on('connectionCheckedIn', (event) => {
    inUse.dec();
    const name = nameOf(event);
    const began = since.get(name);
    since.delete(name);
    if (began !== undefined) seconds.observe((performance.now() - began) / 1_000);
  });
}
