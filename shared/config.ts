/**
 * The configuration: one typed object, read once from the environment, all mistakes reported together.
 * `docs/configuration.md` is its table; a test keeps the two alike.
 */
import { isIP } from 'node:net';
import { StoreDataError } from './errors.ts';

export interface Setting {
  name: string;
  /** As the table shows it; `null` where the variable is required. */
  default: string | null;
  meaning: string;
}

export interface Config {
  environments: string[];
  /** Leads the names of databases, consumer groups and Redis keys. */
  namePrefix: string;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  kafka: { brokers: string[]; sessionTimeoutMs: number };
  mongodb: { uri: string; readTimeoutMs: number };
  redis: { url: string; commandTimeoutMs: number };
  operations: { host: string; port: number };
  query: {
    host: string;
    port: number;
    quota: { requests: number; windowSeconds: number };
    /** Of the token endpoint: failures allowed in a window. */
    authFailures: {
      windowSeconds: number;
      perClientAndAddress: number;
      perAddress: number;
      perClient: number;
    };
    trustedProxies: string[];
  };
  tokens: {
    issuer: string;
    audience: string;
    lifetimeSeconds: number;
    /** A JWK set with private keys, inline or in a file; the first key whose time has come signs. */
    signingKeys: string | null;
    signingKeysFile: string | null;
  };
  projector: {
    sliceEvents: number;
    sliceBytes: number;
    concurrentPartitions: number;
    /** Of each topic's dead letters. */
    deadLetters: {
      limits: { letters: number; bytes: number };
      /** After how many days they expire; `null` never. */
      days: number | null;
    };
    /** Kills the process inside the n-th transaction: for the tests of recovery. */
    crashInTransaction: number | null;
    /** The percentage of time that rewriting the bodies of moved stores may take. */
    rewritingShare: number;
  };
}

type Read<T> = (text: string) => T | Mistake;
interface Mistake {
  mistake: string;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

function oneOf<const T extends string>(allowed: readonly T[]): Read<T> {
  return (text) =>
    allowed.find((value) => value === text) ?? { mistake: `must be one of ${allowed.join(', ')}` };
}

function whole(min: number, max: number): Read<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : { mistake: `must be a whole number from ${min} to ${max}` };
  };
}

function matching(pattern: RegExp, words: string): Read<string> {
  return (text) => (pattern.test(text) ? text : { mistake: `must be ${words}` });
}

function list(item: Read<string>, options: { empty: boolean }): Read<string[]> {
  return (text) => {
    const parts = text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    if (parts.length === 0 && !options.empty) return { mistake: 'must name at least one' };
    for (const part of parts) {
      const read = item(part);
      if (typeof read !== 'string') return read;
    }
    if (new Set(parts).size < parts.length) return { mistake: 'must not repeat a name' };
    return parts;
  };
}

/** An address, or a network of one: not all addresses, since then anybody could claim to be anybody. */
const network: Read<string> = (text) => {
  const [address = '', bits, ...rest] = text.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const length = bits === undefined ? longest : /^[1-9]\d{0,2}$/.test(bits) ? Number(bits) : 0;
  return rest.length === 0 && length >= 1 && length <= longest
    ? text
    : { mistake: 'must be an address or a network such as 10.0.0.0/8' };
};

const anyText = matching(/./s, 'text');
const port = whole(0, 65_535);
const uri = (schemes: string) =>
  matching(
    new RegExp(`^(?:${schemes})://`),
    `a URI that begins with ${schemes.replaceAll('|', ':// or ')}://`,
  );

/** Every variable, in the order of the table. */
const settings = {
  environments: {
    name: 'ENVIRONMENTS',
    read: list(
      matching(
        /^[a-z][a-z0-9-]{0,30}$/,
        'lower-case letters, digits and hyphens, a letter first, at most 31 characters',
      ),
      { empty: false },
    ),
    default: 'production,sandbox',
    meaning: 'The environments served, separated by commas.',
  },
  namePrefix: {
    name: 'NAME_PREFIX',
    read: matching(
      /^[a-z][a-z0-9_]{0,19}$/,
      'lower-case letters, digits and _, a letter first, at most 20 characters',
    ),
    default: 'store_data',
    meaning:
      'Leads the names of databases, consumer groups and Redis keys, so that installations can share servers.',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    read: oneOf(LOG_LEVELS),
    default: 'info',
    meaning: 'Least severe level that is logged.',
  },
  brokers: {
    name: 'KAFKA_BROKERS',
    read: list(matching(/^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'host:port'), { empty: false }),
    default: null,
    meaning: 'Kafka bootstrap addresses, `host:port`, separated by commas.',
  },
  kafkaSessionTimeoutMs: {
    name: 'KAFKA_SESSION_TIMEOUT_MS',
    read: whole(1_000, 300_000),
    default: '6000',
    meaning:
      'After how many milliseconds without a heartbeat the group gives a projector’s partitions to another.',
  },
  mongodbUri: {
    name: 'MONGODB_URI',
    read: uri('mongodb|mongodb\\+srv'),
    default: null,
    meaning: 'Connection string of the MongoDB replica set.',
  },
  mongodbReadTimeoutMs: {
    name: 'MONGODB_READ_TIMEOUT_MS',
    read: whole(50, 60_000),
    default: '600',
    meaning: 'How many milliseconds a request may wait for MongoDB before it is answered 503.',
  },
  redisUrl: {
    name: 'REDIS_URL',
    read: uri('redis|rediss'),
    default: null,
    meaning: 'Address of Redis, `redis://…` or `rediss://…`.',
  },
  redisCommandTimeoutMs: {
    name: 'REDIS_COMMAND_TIMEOUT_MS',
    read: whole(10, 10_000),
    default: '200',
    meaning: 'How many milliseconds a Redis command may take before the request is answered 503.',
  },
  operationsHost: {
    name: 'OPERATIONS_HOST',
    read: anyText,
    default: '127.0.0.1',
    meaning: 'Address on which `/live`, `/ready` and `/metrics` listen.',
  },
  operationsPort: {
    name: 'OPERATIONS_PORT',
    read: port,
    default: '9090',
    meaning: 'Port of `/live`, `/ready` and `/metrics`; 0 takes a free one.',
  },
  queryHost: {
    name: 'QUERY_HOST',
    read: anyText,
    default: '127.0.0.1',
    meaning: 'Address on which the query service listens.',
  },
  queryPort: {
    name: 'QUERY_PORT',
    read: port,
    default: '8080',
    meaning: 'Port of the query service; 0 takes a free one.',
  },
  quotaRequests: {
    name: 'QUOTA_REQUESTS',
    read: whole(1, 1_000_000_000),
    default: '600',
    meaning: 'Requests that a store and environment may make in a window.',
  },
  quotaWindowSeconds: {
    name: 'QUOTA_WINDOW_SECONDS',
    read: whole(1, 86_400),
    default: '60',
    meaning: 'Length of the quota’s window in seconds.',
  },
  authFailuresWindowSeconds: {
    name: 'AUTH_FAILURES_WINDOW_SECONDS',
    read: whole(1, 86_400),
    default: '60',
    meaning: 'Seconds for which failed authentications at the token endpoint are counted.',
  },
  authFailuresPerClientAndAddress: {
    name: 'AUTH_FAILURES_PER_CLIENT_AND_ADDRESS',
    read: whole(1, 1_000_000_000),
    default: '20',
    meaning:
      'Failed authentications of one client from one address (IPv6: one /64) in that time; beyond it both wait, whatever the secret. It is 5 while one of the next two is exceeded.',
  },
  authFailuresPerAddress: {
    name: 'AUTH_FAILURES_PER_ADDRESS',
    read: whole(1, 1_000_000_000),
    default: '200',
    meaning:
      'Failed authentications from one address in that time; beyond it wrong secrets from there are answered 429.',
  },
  authFailuresPerClient: {
    name: 'AUTH_FAILURES_PER_CLIENT',
    read: whole(1, 1_000_000_000),
    default: '200',
    meaning:
      'Failed authentications of one client in that time; beyond it wrong secrets of this client are answered 429.',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    read: list(network, { empty: true }),
    default: '',
    meaning:
      'Addresses or networks of proxies whose `X-Forwarded-For` is believed, separated by commas; none when empty.',
  },
  tokenIssuer: {
    name: 'TOKEN_ISSUER',
    read: anyText,
    default: 'store-data',
    meaning: '`iss` of the tokens.',
  },
  tokenAudience: {
    name: 'TOKEN_AUDIENCE',
    read: anyText,
    default: 'store-data-api',
    meaning: '`aud` of the tokens.',
  },
  tokenLifetimeSeconds: {
    name: 'TOKEN_LIFETIME_SECONDS',
    read: whole(1, 86_400),
    default: '900',
    meaning: 'How many seconds a token is valid.',
  },
  signingKeys: {
    name: 'SIGNING_KEYS',
    read: anyText,
    default: '',
    meaning:
      'JWK set with the private ES256 keys of the tokens; all verify, the first whose `nbf` has passed or is absent signs. This or `SIGNING_KEYS_FILE` is required by the query service.',
  },
  signingKeysFile: {
    name: 'SIGNING_KEYS_FILE',
    read: anyText,
    default: '',
    meaning: 'File that holds the JWK set, instead of `SIGNING_KEYS`; read again every second.',
  },
  sliceEvents: {
    name: 'PROJECTOR_SLICE_EVENTS',
    read: whole(1, 100_000),
    default: '1500',
    meaning: 'Most events that the projector applies in one transaction.',
  },
  sliceBytes: {
    name: 'PROJECTOR_SLICE_BYTES',
    read: whole(1_024, 64 * 1_048_576),
    default: '4194304',
    meaning:
      'Most bytes of messages that the projector applies in one transaction (one message always fits).',
  },
  concurrentPartitions: {
    name: 'PROJECTOR_CONCURRENT_PARTITIONS',
    read: whole(1, 64),
    default: '3',
    meaning: 'Partitions that one projector process works on side by side.',
  },
  rewritingShare: {
    name: 'PROJECTOR_REWRITING_SHARE',
    read: whole(1, 100),
    default: '25',
    meaning:
      'The percentage of its time that the projector spends at most on rewriting the bodies of stores whose `timezone_offset` has moved.',
  },
  deadLetterDays: {
    name: 'DEAD_LETTER_DAYS',
    read: whole(0, 36_500),
    default: '90',
    meaning: 'After how many days a dead letter about which nobody decided expires; 0 never.',
  },
  deadLetterCount: {
    name: 'DEAD_LETTER_COUNT',
    read: whole(1, 10_000_000),
    default: '100000',
    meaning:
      'Most dead letters of one topic; beyond it one for each partition and reason stands for all further ones.',
  },
  deadLetterBytes: {
    name: 'DEAD_LETTER_BYTES',
    read: whole(1, 1_000_000_000_000),
    default: '268435456',
    meaning:
      'Most bytes of messages that the dead letters of one topic keep; beyond it they keep place and reason alone, and the message is read from Kafka.',
  },
  crashInTransaction: {
    name: 'PROJECTOR_CRASH_IN_TRANSACTION',
    read: whole(0, 1_000_000_000),
    default: '0',
    meaning:
      'For tests of recovery only: the process kills itself between the first write and the commit of its n-th transaction; 0 never.',
  },
} as const;

type Settings = typeof settings;
type Values = { [K in keyof Settings]: Exclude<ReturnType<Settings[K]['read']>, Mistake> };

/** The table of all settings, for the documentation and `--help`. */
export function describeSettings(): Setting[] {
  return Object.values(settings).map(({ name, default: fallback, meaning }) => ({
    name,
    default: fallback,
    meaning,
  }));
}

/**
 * Reads the configuration. An empty variable counts as not set.
 * @throws {StoreDataError} `config_invalid`, its message one line for each mistake.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const mistakes: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const given = env[setting.name];
    const text = given === undefined || given === '' ? setting.default : given;
    if (text === null) {
      mistakes.push(`${setting.name} is required: ${setting.meaning}`);
    } else if (text === '') {
      values[key] = setting.name === 'TRUSTED_PROXIES' ? [] : '';
    } else {
      const read: unknown = setting.read(text);
      if (typeof read === 'object' && read !== null && 'mistake' in read) {
        mistakes.push(`${setting.name} ${String(read.mistake)}`);
      } else {
        values[key] = read;
      }
    }
  }
  if (env['SIGNING_KEYS'] && env['SIGNING_KEYS_FILE'])
    mistakes.push('SIGNING_KEYS and SIGNING_KEYS_FILE exclude each other');
  if (mistakes.length > 0) throw new StoreDataError('config_invalid', mistakes.join('\n'));
  return arrange(values as Values);
}

function arrange(values: Values): Config {
  return {
    environments: values.environments,
    namePrefix: values.namePrefix,
    logLevel: values.logLevel,
    kafka: { brokers: values.brokers, sessionTimeoutMs: values.kafkaSessionTimeoutMs },
    mongodb: { uri: values.mongodbUri, readTimeoutMs: values.mongodbReadTimeoutMs },
    redis: { url: values.redisUrl, commandTimeoutMs: values.redisCommandTimeoutMs },
    operations: { host: values.operationsHost, port: values.operationsPort },
    query: {
      host: values.queryHost,
      port: values.queryPort,
      quota: { requests: values.quotaRequests, windowSeconds: values.quotaWindowSeconds },
      authFailures: {
        windowSeconds: values.authFailuresWindowSeconds,
        perClientAndAddress: values.authFailuresPerClientAndAddress,
        perAddress: values.authFailuresPerAddress,
        perClient: values.authFailuresPerClient,
      },
      trustedProxies: values.trustedProxies,
    },
    tokens: {
      issuer: values.tokenIssuer,
      audience: values.tokenAudience,
      lifetimeSeconds: values.tokenLifetimeSeconds,
      signingKeys: values.signingKeys || null,
      signingKeysFile: values.signingKeysFile || null,
    },
    projector: {
      sliceEvents: values.sliceEvents,
      sliceBytes: values.sliceBytes,
      concurrentPartitions: values.concurrentPartitions,
      rewritingShare: values.rewritingShare,
      deadLetters: {
        limits: { letters: values.deadLetterCount, bytes: values.deadLetterBytes },
        days: values.deadLetterDays || null,
      },
      crashInTransaction: values.crashInTransaction || null,
    },
  };
}
