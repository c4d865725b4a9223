/**
 * The Redis client: fails fast instead of queueing, so that an outage is an error and never a wait.
 */
import { type Command, Redis, type RedisOptions } from 'ioredis';
import type { Histogram } from 'prom-client';
import { readPassword, readTlsFiles } from './config/files.ts';
import type { Config } from './config.ts';
import { describeError, isRefusal } from './errors.ts';
import type { Logger } from './logging.ts';
import type { metricFactory } from './operations.ts';
import { readRedisAddress, type RedisAddress, type RedisNode } from './address.ts';
import { createRedisCluster } from './redis-cluster.ts';
import { onlyMaster, type RedisMasters } from './redis-masters.ts';
import { activeSpan, errorType } from './tracing.ts';
import { withTimeLimit } from './waiting.ts';

export function redisSeconds({
  histogram,
}: Pick<ReturnType<typeof metricFactory>, 'histogram'>): Histogram {
  return histogram(
    'store_data_redis_seconds',
    'Seconds until Redis has answered a command',
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  );
}

/**
 * Called once when a server becomes unavailable or refuses us, and when it is back. Without a
 * listener an error ends the process.
 */
interface RedisWatcher {
  away: (error: Error) => void;
  /** @param reason also says what to do. If absent, `away` is called instead. */
  refuses?: (reason: string) => void;
  back?: () => void;
}

export function logRedis(logger: Logger): Required<RedisWatcher> {
  return {
    away: (error) =>
      logger.warn({ error: describeError(error) }, 'Redis cannot be reached: it is tried again'),
    refuses: (reason) =>
      logger.error(`configuration error: ${reason}. It is tried again meanwhile`),
    back: () => logger.info('Redis is back'),
  };
}

/**
 * One server, the master behind sentinels, or the masters of a cluster.
 * @param seconds measures how long Redis takes to answer.
 */
export function createRedis(
  config: Config,
  watcher: RedisWatcher,
  seconds?: Histogram,
): RedisMasters {
  const address = readRedisAddress(config.redis.url);
  if (address === null) throw new Error('the configuration has no address of Redis');
  const options = optionsOf(config.redis, address);
  const connect = (node: RedisNode) =>
    new RedisConnection(address.urlOf(node), options, watcher, seconds);
  if (address.kind === 'cluster') return createRedisCluster(address.nodes, connect);
  const redis = connect(address.nodes[0]);
  const master = onlyMaster(redis);
  const all = [master];
  return {
    all: () => all,
    find: () => master,
    isWhole: () => true,
    onChange: () => undefined,
    refusal: () => redis.refusal,
    async ready(timeoutMs) {
      if (redis.status === 'ready') return;
      const late = () => new Error('Redis connection is not ready');
      await withTimeLimit(
        timeoutMs,
        late,
        () => new Promise((resolve) => redis.once('ready', resolve)),
      );
    },
    disconnect: () => redis.disconnect(),
  };
}

/**
 * Reconnects for ever. Commands fail while disconnected, and after `REDIS_COMMAND_TIMEOUT_MS` if
 * Redis is frozen.
 */
function optionsOf(
  settings: Config['redis'],
  address: RedisAddress,
): Omit<RedisOptions, 'replyMapping'> {
  const { commandTimeoutMs } = settings;
  return {
    ...securityOf(settings),
    ...(address.kind === 'sentinel' && sentinelsOf(settings, address)),
    enableOfflineQueue: false,
    commandTimeout: commandTimeoutMs,
    // CLIENT SETINFO is new in Redis 7.2: older servers do not start with an ACL that allows it.
    disableClientInfo: true,
    // If Redis is frozen, drop the connection with the commands behind the unanswered ones.
    socketTimeout: Math.max(commandTimeoutMs * 5, 1_000),
    connectTimeout: Math.max(commandTimeoutMs, 1_000),
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  };
}

function sentinelsOf(
  { sentinel, tls, commandTimeoutMs }: Config['redis'],
  { nodes, master, isSecure }: RedisAddress,
): RedisOptions {
  const { username } = sentinel;
  const password = readPassword(sentinel);
  return {
    sentinels: [...nodes],
    name: master,
    ...(username !== null && { sentinelUsername: username }),
    ...(password !== null && { sentinelPassword: password }),
    ...(isSecure && { enableTLSForSentinelMode: true, sentinelTLS: readTlsFiles(tls) }),
    sentinelCommandTimeout: Math.max(commandTimeoutMs, 1_000),
    sentinelRetryStrategy: (attempt) => Math.min(50 * attempt, 500),
  };
}

function securityOf(
  settings: Config['redis'],
): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  const { username, tls } = settings;
  const password = readPassword(settings);
  return {
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...((tls.caFile !== null || tls.certFile !== null) && { tls: readTlsFiles(tls) }),
  };
}

/** Emits `moved` when a server says that another node of its cluster holds a key. */
class RedisConnection extends Redis {
  readonly #seconds: Histogram | undefined;
  /** Why one side refuses the other, and which settings to correct; `null` once connected. */
  refusal: string | null = null;

  constructor(
    url: string,
    options: Omit<RedisOptions, 'replyMapping'>,
    { away, refuses, back }: RedisWatcher,
    seconds?: Histogram,
  ) {
    super(url, options);
    this.#seconds = seconds;
    // ioredis calls this for each error that Redis answers: commands that succeed cost nothing.
    this.options.reconnectOnError = (error) => {
      if (error.message.startsWith('MOVED ')) this.emit('moved');
      return false;
    };
    let reported: 'away' | 'refused' | null = null;
    this.on('error', (error) => {
      if (isRefusal(error)) this.refusal = describeRefusal(error);
      const state = this.refusal === null ? 'away' : 'refused';
      if (reported === state) return;
      reported = state;
      if (this.refusal === null || refuses === undefined) away(error);
      else refuses(this.refusal);
    });
    this.on('ready', () => {
      this.refusal = null;
      if (reported !== null) back?.();
      reported = null;
    });
  }

  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const [command] = args;
    const sent = performance.now();
    const answered = () => this.#seconds?.observe((performance.now() - sent) / 1_000);
    command.promise.then(answered, answered);
    traceCommand(command);
    return super.sendCommand(...args);
  }
}

function describeRefusal(error: Error): string {
  const settings = /certificate|SSL/.test(error.message)
    ? 'REDIS_TLS_CA_FILE, REDIS_TLS_CERT_FILE and whether REDIS_URL begins with rediss'
    : 'REDIS_USERNAME, REDIS_PASSWORD or REDIS_PASSWORD_FILE, and what that user may do; behind sentinels REDIS_SENTINEL_PASSWORD_FILE';
  return `Redis refuses this process: ${describeError(error).trim()}. Correct ${settings}`;
}

/** Its name alone: keys hold the ids of sessions. */
function traceCommand({ name, promise }: Command): void {
  const parent = activeSpan();
  if (parent === undefined) return;
  const operation = name.toUpperCase();
  const span = parent.child(operation, 'client', {
    'db.system.name': 'redis',
    'db.operation.name': operation,
  });
  promise.then(
    () => span.end(),
    (error: unknown) => span.end(errorType(error)),
  );
}
