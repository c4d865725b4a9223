/**
 * The MongoDB clients, of which that of the query service must not wait, and the metrics of their
 * connections.
 */
import { createRequire } from 'node:module';
import {
  type Db,
  MongoClient,
  type MongoClientOptions,
  MongoStalePrimaryError,
  type TopologyDescription,
} from 'mongodb';
import { readPassword } from './config/files.ts';
import type { Config } from './config.ts';
import { describeError } from './errors.ts';
import type { Logger } from './logging.ts';
import type { metricFactory } from './operations.ts';
import { pause } from './waiting.ts';

interface ClientOptions extends MongoClientOptions {
  /** Where it is said that the client connects anew. */
  logger?: Logger | undefined;
}

/**
 * Majority writes, reads from the primary alone, and time for an election.
 * @param more options that replace ours.
 */
export function createWriterClient(
  config: Pick<Config, 'mongodb'>,
  appName: string,
  { logger, ...more }: ClientOptions = {},
): MongoClient {
  return new RenewedClient(logger, config.mongodb.uri, {
    ...securityOf(config.mongodb),
    appName,
    retryWrites: true,
    // Whatever the address says: checkpoints and transactions need what was written last.
    readPreference: 'primary',
    writeConcern: { w: 'majority' },
    readConcern: { level: 'majority' },
    serverSelectionTimeoutMS: 5_000,
    // A member that refused a command is asked so soon whether it may be used again. The driver's
    // default are ten seconds.
    heartbeatFrequencyMS: 2_000,
    // Also the monitor's limit: beyond it all connections are closed.
    connectTimeoutMS: Math.max(5_000, config.mongodb.readTimeoutMs),
    socketTimeoutMS: 60_000,
    maxPoolSize: 32,
    ...more,
  });
}

/**
 * Fails within `MONGODB_READ_TIMEOUT_MS` without a server. A connection with an overdue reply is
 * closed.
 */
export function createReaderClient(
  config: Pick<Config, 'mongodb'>,
  appName: string,
  logger?: Logger,
): MongoClient {
  decodeErrorReplies();
  return new RenewedClient(logger, config.mongodb.uri, {
    ...securityOf(config.mongodb),
    appName,
    serverSelectionTimeoutMS: config.mongodb.readTimeoutMs,
    connectTimeoutMS: config.mongodb.readTimeoutMs,
    waitQueueTimeoutMS: config.mongodb.readTimeoutMs,
    socketTimeoutMS: config.mongodb.readTimeoutMs,
    heartbeatFrequencyMS: 1_000,
    minHeartbeatFrequencyMS: 500,
    // Otherwise the driver also polls the latency, as often. A failed read makes it search a new
    // primary at once.
    serverMonitoringMode: 'poll',
    maxPoolSize: 64,
    minPoolSize: 2,
  });
}

/**
 * How long the one primary may be refused as stale. While a deposed primary gives up, another one
 * is there, or comes soon.
 */
const STALE_MS = 500;
const RECONNECT_MS = 250;

/**
 * The driver remembers the newest election, and refuses a primary of an older one for as long as it
 * lives: also that of a database which was restored from a snapshot. This client then closes its
 * connections and connects anew, as a new process would.
 */
class RenewedClient extends MongoClient {
  readonly #closed = new AbortController();

  constructor(logger: Logger | undefined, uri: string, options: MongoClientOptions) {
    super(uri, options);
    const { signal } = this.#closed;
    let newest: TopologyDescription;
    let checking: NodeJS.Timeout | undefined;
    const check = async () => {
      if (refusesPrimary(newest)) {
        logger?.warn(
          {},
          'MongoDB has a primary of an older election, as after a restored snapshot: connecting anew',
        );
        await super.close();
        do {
          try {
            if (!signal.aborted) await this.connect();
            // It may have been closed meanwhile.
            if (signal.aborted) await super.close();
            break;
          } catch (error) {
            logger?.warn({ error: describeError(error) }, 'MongoDB cannot be reached');
          }
        } while (await pause(RECONNECT_MS, signal));
      }
      checking = undefined;
    };
    this.on('topologyDescriptionChanged', ({ newDescription }) => {
      newest = newDescription;
      if (refusesPrimary(newest)) checking ??= setTimeout(() => void check(), STALE_MS).unref();
    });
    signal.addEventListener('abort', () => clearTimeout(checking));
  }

  override close(): Promise<void> {
    this.#closed.abort();
    return super.close();
  }
}

/**
 * Whether a member is primary, but of an older election than the newest known, and no other member
 * is primary.
 */
function refusesPrimary({ servers }: TopologyDescription): boolean {
  const all = [...servers.values()];
  return (
    all.some(({ error }) => error instanceof MongoStalePrimaryError) &&
    !all.some(({ isWritable }) => isWritable)
  );
}

/** A database without a read concern: its own would silently replace a session's snapshot. */
export function forSnapshots(db: Db): Db {
  // If it were absent, the client's would hold.
  const unsaid: object = { readConcern: undefined };
  return db.client.db(db.databaseName, unsaid);
}

interface Reply {
  ok: 0 | 1;
  toObject: (options?: { raw?: boolean }) => object;
}

let areErrorsDecoded = false;

/**
 * The driver decodes the error reply of a raw command as raw too, and keeps its `topologyVersion`,
 * a document, as bytes. Its next heartbeat compares that and throws where nothing can catch it. So
 * error replies are always decoded (decision 0080).
 */
function decodeErrorReplies(): void {
  if (areErrorsDecoded) return;
  areErrorsDecoded = true;
  const driver: unknown = createRequire(import.meta.url)(
    'mongodb/lib/cmap/wire_protocol/responses',
  );
  const { prototype } = (driver as { MongoDBResponse: { prototype: Reply } }).MongoDBResponse;
  const { toObject } = prototype;
  prototype.toObject = function (options) {
    const isRawError = options?.raw === true && this.ok === 0;
    return toObject.call(this, isRawError ? { ...options, raw: false } : options);
  };
}

function securityOf(settings: Config['mongodb']): MongoClientOptions {
  const { username, tls } = settings;
  const password = readPassword(settings);
  return {
    ...(username !== null && password !== null && { auth: { username, password } }),
    ...(tls.caFile !== null && { tls: true, tlsCAFile: tls.caFile }),
    ...(tls.certKeyFile !== null && { tls: true, tlsCertificateKeyFile: tls.certKeyFile }),
  };
}

export function poolMetrics({
  gauge,
  histogram,
}: Pick<ReturnType<typeof metricFactory>, 'gauge' | 'histogram'>) {
  return {
    inUse: gauge('store_data_mongodb_connections_in_use', 'Connections to MongoDB that are in use'),
    waiting: gauge(
      'store_data_mongodb_connections_awaited',
      'Operations that wait for a connection to MongoDB',
    ),
    seconds: histogram(
      'store_data_mongodb_seconds',
      'Seconds that a command to MongoDB takes, once it has a connection',
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    ),
  };
}

/** Times commands by their connections: the driver's command monitoring copies each command. */
export function watchPool(
  client: MongoClient,
  { inUse, waiting, seconds }: ReturnType<typeof poolMetrics>,
): void {
  const since = new Map<string, number>();
  const nameOf = ({
    address,
    connectionId,
  }: {
    address: string;
    connectionId: number | '<monitor>';
  }) => `${address}/${connectionId}`;
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
