/**
 * The configuration, read once from the environment; all mistakes are reported together. A test
 * compares `docs/configuration.md`.
 */
import { closest, distance } from 'fastest-levenshtein';
import {
  anyText,
  flag,
  list,
  matching,
  mongodbAddress,
  network,
  oneOf,
  optional,
  port,
  readSetting,
  readSettings,
  redisAddress,
  type Setting,
  setting,
  settingsOf,
  type ValuesOf,
  webAddress,
  wholeNumber,
} from './config/setting.ts';
import { StoreDataError } from './errors.ts';

const environmentName = matching(
  /^[a-z][a-z0-9-]{0,30}$/,
  'lower-case letters, digits and hyphens, a letter first, at most 31 characters',
);
const lowerCaseName = matching(
  /^[a-z][a-z0-9_]{0,19}$/,
  'lower-case letters, digits and _, a letter first, at most 20 characters',
);
const pairs = matching(/^(?:[^,=]+=[^,]*(?:,|$))*$/, 'name=value, separated by commas');
const hostAndPort = matching(/^[^\s:@/?#]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'host:port');

const userOf = (server: string, meaning: string, password = 'Password of that user.') => ({
  username: optional(`${server}_USERNAME`, anyText, meaning),
  password: optional(`${server}_PASSWORD`, anyText, password),
  passwordFile: optional(
    `${server}_PASSWORD_FILE`,
    anyText,
    `File that holds it, instead of \`${server}_PASSWORD\`.`,
  ),
});

const certificateOf = (side: string, meaning: string) => ({
  certFile: optional(`${side}_CERT_FILE`, anyText, meaning),
  keyFile: optional(`${side}_KEY_FILE`, anyText, 'File with the private key of that certificate.'),
});

const settings = {
  environments: setting(
    'ENVIRONMENTS',
    list(environmentName, 1),
    'production,sandbox',
    'The environments served, separated by commas.',
  ),
  namePrefix: setting(
    'NAME_PREFIX',
    lowerCaseName,
    'store_data',
    'Prefix of databases, consumer groups and Redis keys, so that installations can share servers.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'Least severe level that is logged.',
  ),
  logFormat: setting(
    'LOG_FORMAT',
    oneOf('numbers', 'names'),
    'numbers',
    'Level and time of log lines: `numbers` (30, milliseconds since 1970) or `names` (`info`, ISO 8601 UTC).',
  ),
  kafka: {
    brokers: setting(
      'KAFKA_BROKERS',
      list(hostAndPort, 1),
      null,
      'Kafka bootstrap addresses, `host:port`, separated by commas.',
    ),
    sessionTimeoutMs: setting(
      'KAFKA_SESSION_TIMEOUT_MS',
      wholeNumber(1_000, 300_000),
      '6000',
      'Milliseconds without a heartbeat after which the group gives a projector’s partitions to another.',
    ),
    tls: {
      enabled: setting('KAFKA_TLS', flag, 'false', 'Whether connections to brokers use TLS.'),
      caFile: optional(
        'KAFKA_TLS_CA_FILE',
        anyText,
        'File with the certificates (PEM) of the brokers’ authorities; if empty, the system’s.',
      ),
      ...certificateOf('KAFKA_TLS', 'File with our own certificate for Kafka, if it requires one.'),
    },
    sasl: {
      mechanism: optional(
        'KAFKA_SASL_MECHANISM',
        oneOf('plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'),
        'Authentication: `plain`, `scram-sha-256`, `scram-sha-512` or `oauthbearer`; if empty, none.',
      ),
      ...userOf(
        'KAFKA_SASL',
        'User of Kafka; with `oauthbearer` the client id at the token endpoint.',
        'Password of that user; with `oauthbearer` the client secret.',
      ),
      tokenUrl: optional(
        'KAFKA_SASL_TOKEN_URL',
        webAddress,
        'Token endpoint of `oauthbearer`, for the client credentials grant.',
      ),
      scope: optional('KAFKA_SASL_SCOPE', anyText, 'Scope that is requested there.'),
    },
  },
  mongodb: {
    uri: setting(
      'MONGODB_URI',
      mongodbAddress,
      null,
      'Connection string of the MongoDB replica set.',
    ),
    readTimeoutMs: setting(
      'MONGODB_READ_TIMEOUT_MS',
      wholeNumber(50, 60_000),
      '600',
      'Milliseconds that a request may wait for MongoDB before it is answered 503; reads whose cost grows with the store have 20 s.',
    ),
    ...userOf('MONGODB', 'User of MongoDB, if the connection string names none.'),
    tls: {
      caFile: optional(
        'MONGODB_TLS_CA_FILE',
        anyText,
        'File with the certificates (PEM) of MongoDB’s authorities; turns TLS on.',
      ),
      certKeyFile: optional(
        'MONGODB_TLS_CERT_KEY_FILE',
        anyText,
        'File with our own certificate and private key; turns TLS on. `authMechanism=MONGODB-X509` authenticates by it.',
      ),
    },
  },
  redis: {
    url: setting(
      'REDIS_URL',
      redisAddress,
      null,
      'Address of Redis: `redis://host:6379`; behind sentinels `redis+sentinel://host:26379,host:26379/name-of-the-master`; ' +
        'some nodes of a cluster `redis+cluster://host:6379,host:6379`. With TLS each begins with `rediss`.',
    ),
    commandTimeoutMs: setting(
      'REDIS_COMMAND_TIMEOUT_MS',
      wholeNumber(10, 10_000),
      '200',
      'Milliseconds that a Redis command may take before the request is answered 503.',
    ),
    ...userOf('REDIS', 'User of Redis (ACL), if the address names none.'),
    tls: {
      caFile: optional(
        'REDIS_TLS_CA_FILE',
        anyText,
        'File with the certificates (PEM) of Redis’s authorities; needs a `rediss` address, as the next two do.',
      ),
      ...certificateOf('REDIS_TLS', 'File with our own certificate for Redis, if it requires one.'),
    },
    /** Sentinels have users of their own. */
    sentinel: userOf(
      'REDIS_SENTINEL',
      'User of the sentinels (ACL).',
      'Password of the sentinels, if they require one; they never get that of Redis.',
    ),
  },
  /** Of a collector of traces, in the variables of OpenTelemetry's standard. */
  tracing: {
    endpoint: optional(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      webAddress,
      'A collector of OTLP over HTTP, such as `http://127.0.0.1:4318`. This or the next turns tracing on.',
    ),
    tracesEndpoint: optional(
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      webAddress,
      'The whole address for traces, instead of `/v1/traces` at that one.',
    ),
    // Operators set it for all workloads of a cluster: another one may not keep a service from
    // starting.
    protocol: setting(
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      oneOf('http/json', 'http/protobuf', 'grpc'),
      'http/json',
      'The format of spans. They are always sent as `http/json`; the others are accepted with a warning.',
    ),
    headers: setting(
      'OTEL_EXPORTER_OTLP_HEADERS',
      pairs,
      '',
      'Headers to the collector, such as a key: `name=value`, separated by commas, values percent-encoded.',
    ),
    serviceName: optional(
      'OTEL_SERVICE_NAME',
      anyText,
      'Name of the service in traces; `store-data-query` and `store-data-projector` if empty.',
    ),
    resource: setting(
      'OTEL_RESOURCE_ATTRIBUTES',
      pairs,
      '',
      'Attributes of every span, such as `deployment.environment.name=staging`.',
    ),
    sampler: setting(
      'OTEL_TRACES_SAMPLER',
      oneOf(
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      ),
      'parentbased_always_on',
      'Which requests and slices are traced. With `parentbased_…` a publisher that sends `traceparent` decides, ' +
        'and a caller if `QUERY_TRUST_TRACEPARENT` allows it.',
    ),
    samplerArg: setting(
      'OTEL_TRACES_SAMPLER_ARG',
      matching(/^(?:0|1|[01]\.0+|0?\.\d+)$/, 'a number from 0 to 1'),
      '1',
      'For `traceidratio` and `parentbased_traceidratio`: the part of traces that is recorded, such as `0.01`.',
    ),
    sendAfterMs: setting(
      'OTEL_BSP_SCHEDULE_DELAY',
      wholeNumber(1, 600_000),
      '5000',
      'Milliseconds after which spans are sent, unless there are 512 before.',
    ),
    queuedSpans: setting(
      'OTEL_BSP_MAX_QUEUE_SIZE',
      wholeNumber(1, 1_000_000),
      '2048',
      'Maximum number of spans that wait to be sent; further ones are dropped.',
    ),
  },
  operations: {
    host: setting(
      'OPERATIONS_HOST',
      anyText,
      '127.0.0.1',
      'Address on which `/live`, `/ready` and `/metrics` listen.',
    ),
    port: setting(
      'OPERATIONS_PORT',
      port,
      '9090',
      'Port of `/live`, `/ready` and `/metrics`; 0 takes a free one.',
    ),
  },
  query: {
    host: setting(
      'QUERY_HOST',
      anyText,
      '127.0.0.1',
      'Address on which the query service listens.',
    ),
    port: setting('QUERY_PORT', port, '8080', 'Port of the query service; 0 takes a free one.'),
    tls: certificateOf(
      'QUERY_TLS',
      'File with the query service’s certificate chain, for HTTPS without a proxy; read again when it changes.',
    ),
    shutdownDelayMs: setting(
      'SHUTDOWN_DELAY_MS',
      wholeNumber(0, 60_000),
      '5000',
      'Milliseconds that the query service continues to serve after a signal to end, while `/ready` answers 503: ' +
        'longer than a load balancer needs to notice.',
    ),
    overloadLatencyMs: setting(
      'OVERLOAD_LATENCY_MS',
      wholeNumber(10, 60_000),
      '100',
      'Milliseconds that requests wait on average under overload; a burst waits three times as long. ' +
        'The rest is refused with 503; up to 64 requests at a time never are.',
    ),
    quota: {
      requests: setting(
        'QUOTA_REQUESTS',
        wholeNumber(1, 1_000_000_000),
        '600',
        'Requests that a store and environment may make in a window.',
      ),
      windowSeconds: setting(
        'QUOTA_WINDOW_SECONDS',
        wholeNumber(1, 86_400),
        '60',
        'Length of the quota’s window in seconds.',
      ),
    },
    /** Of the token endpoint: failures allowed in a window. */
    authFailures: {
      windowSeconds: setting(
        'AUTH_FAILURES_WINDOW_SECONDS',
        wholeNumber(1, 86_400),
        '60',
        'Seconds for which failed authentications at the token endpoint count.',
      ),
      perClientAndAddress: setting(
        'AUTH_FAILURES_PER_CLIENT_AND_ADDRESS',
        wholeNumber(1, 1_000_000_000),
        '20',
        'Failed authentications of one client from one address (IPv6: one /64) in that time; then both wait, whatever the secret. ' +
          'It is 5 while one of the next two is exceeded.',
      ),
      perAddress: setting(
        'AUTH_FAILURES_PER_ADDRESS',
        wholeNumber(1, 1_000_000_000),
        '200',
        'Failed authentications from one address in that time; then wrong secrets from there are answered 429.',
      ),
      perClient: setting(
        'AUTH_FAILURES_PER_CLIENT',
        wholeNumber(1, 1_000_000_000),
        '200',
        'Failed authentications of one client in that time; then its wrong secrets are answered 429.',
      ),
    },
    maxTokensPerKey: setting(
      'MAX_TOKENS_PER_KEY',
      wholeNumber(1, 1_000_000_000),
      '10000',
      'Maximum number of live tokens of a key; then the token endpoint answers 429 until one ends. ' +
        'Clients may fetch a token for each call if it is above the quota within the lifetime of a token.',
    ),
    loggedPercent: setting(
      'LOG_REQUESTS_PERCENT',
      wholeNumber(0, 100),
      '100',
      'Percentage of requests that are logged, chosen at random; metrics count all. `/health` is never logged.',
    ),
    docs: setting(
      'QUERY_DOCS',
      flag,
      'true',
      'Whether the query service has the reference and the guides at `/docs`.',
    ),
    trustTraceparent: setting(
      'QUERY_TRUST_TRACEPARENT',
      flag,
      'false',
      'Whether a request continues the trace of its caller’s `traceparent`, who then decides by a `parentbased_` sampler. ' +
        'Otherwise it begins a trace of its own, with a link to the caller’s.',
    ),
    trustedProxies: setting(
      'TRUSTED_PROXIES',
      list(network, 0),
      '',
      'Addresses or networks of proxies whose `X-Forwarded-For` is trusted, separated by commas.',
    ),
  },
  tokens: {
    issuer: setting('TOKEN_ISSUER', anyText, 'store-data', '`iss` of the tokens.'),
    audience: setting('TOKEN_AUDIENCE', anyText, 'store-data-api', '`aud` of the tokens.'),
    lifetimeSeconds: setting(
      'TOKEN_LIFETIME_SECONDS',
      wholeNumber(1, 86_400),
      '900',
      'How many seconds a token is valid.',
    ),
    signingKeys: optional(
      'SIGNING_KEYS',
      anyText,
      'JWK set with the private ES256 keys of the tokens; all verify, the first whose `nbf` has passed or is absent signs. ' +
        'The query service requires this or `SIGNING_KEYS_FILE`.',
    ),
    signingKeysFile: optional(
      'SIGNING_KEYS_FILE',
      anyText,
      'File that holds the JWK set, instead of `SIGNING_KEYS`; read again every second.',
    ),
  },
  projector: {
    // The ids of more than 20,000 may be too much for one command of MongoDB.
    sliceEvents: setting(
      'PROJECTOR_SLICE_EVENTS',
      wholeNumber(1, 20_000),
      '1500',
      'Maximum number of events in one transaction of the projector.',
    ),
    sliceBytes: setting(
      'PROJECTOR_SLICE_BYTES',
      wholeNumber(1_024, 64 * 1_048_576),
      '4194304',
      'Maximum bytes of messages in one transaction of the projector (one message always fits).',
    ),
    concurrentPartitions: setting(
      'PROJECTOR_CONCURRENT_PARTITIONS',
      wholeNumber(1, 64),
      '3',
      'Partitions of a generation that one projector process works on at the same time.',
    ),
    rewritingShare: setting(
      'PROJECTOR_REWRITING_SHARE',
      wholeNumber(1, 100),
      '25',
      'Maximum share of its time, in percent, that the projector spends on erasing customers whom very many orders name.',
    ),
    sideBySide: setting(
      'PROJECTOR_SIDE_BY_SIDE',
      flag,
      'false',
      'Whether a projector is ready although the live generation is another release’s: for a second installation ' +
        'beside the one that projects it. Otherwise a new release does not replace projectors that are still needed.',
    ),
    deadLetters: {
      days: setting(
        'DEAD_LETTER_DAYS',
        wholeNumber(0, 36_500),
        '90',
        'Days after which a dead letter without a decision expires; 0 never.',
      ),
      bytes: setting(
        'DEAD_LETTER_BYTES',
        wholeNumber(1, 1_000_000_000_000),
        '268435456',
        'Maximum bytes of messages that the dead letters of one topic keep; beyond it they keep only place and reason, ' +
          'and Kafka has the message.',
      ),
      payloads: setting(
        'DEAD_LETTER_PAYLOADS',
        oneOf('all', 'tied'),
        'all',
        'Whose bytes dead letters keep: `all`, until a customer whom the message may name is deleted; `tied`: only those of messages ' +
          'of a known type whose customers are certain. The others have place, size, digest and reason, and Kafka has the message.',
      ),
    },
  },
};

export type Config = ValuesOf<typeof settings>;

export function describeSettings(): Setting[] {
  return settingsOf(settings);
}

/** The environment without any setting of ours. */
export function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(describeSettings().map(({ name }) => name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

/** The format of log lines, readable even if other settings are wrong. */
export function readLogFormat(env: NodeJS.ProcessEnv): Config['logFormat'] {
  return readSetting(settings.logFormat, env, []) === 'names' ? 'names' : 'numbers';
}

/**
 * @param absent required settings that may be missing: they are empty then.
 * @throws {StoreDataError} `config_invalid`, its message one line for each mistake.
 */
export function readConfig(env: NodeJS.ProcessEnv, absent: readonly string[] = []): Config {
  const found: string[] = [];
  const config = readSettings(settings, env, found);
  const mistakes = found.filter(
    (mistake) => !absent.some((name) => mistake.startsWith(`${name} is required`)),
  );
  mistakes.push(...contradictions(env));
  if (mistakes.length > 0) throw new StoreDataError('config_invalid', mistakes.join('\n'));
  return config;
}

/** A name with at most this many other letters counts as a typing error. */
const NEAR = 2;

/**
 * What is probably meant otherwise, although the settings make a configuration: names near that of
 * a setting, and what has no effect.
 */
export function settingWarnings(env: NodeJS.ProcessEnv): string[] {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol = '' } = env;
  const isOther = protocol !== '' && protocol !== 'http/json';
  const sent = `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and spans are sent as http/json: the collector must accept that`;
  return [...nearMisses(env), ...(isOther ? [sent] : [])];
}

function nearMisses(env: NodeJS.ProcessEnv): string[] {
  const names = describeSettings().map(({ name }) => name);
  return Object.keys(env).flatMap((given) => {
    const nearest = closest(given, names);
    const letters = distance(given, nearest);
    return letters > 0 && letters <= NEAR
      ? [`${given} is not a setting; the nearest is ${nearest}`]
      : [];
  });
}

/** Checks settings that exclude or need one another. */
function contradictions(env: NodeJS.ProcessEnv): string[] {
  const isSet = (name: string) => Boolean(env[name]);
  const mistakes: string[] = [];
  const exclude = (one: string, other: string) => {
    if (isSet(one) && isSet(other)) mistakes.push(`${one} and ${other} exclude each other`);
  };
  const need = (one: string, ...others: string[]) => {
    if (!isSet(one) || others.some(isSet)) return;
    mistakes.push(`${one} needs ${others.join(' or ')}`);
  };
  exclude('SIGNING_KEYS', 'SIGNING_KEYS_FILE');
  for (const server of ['KAFKA_SASL', 'MONGODB', 'REDIS', 'REDIS_SENTINEL']) {
    exclude(`${server}_PASSWORD`, `${server}_PASSWORD_FILE`);
  }
  for (const name of ['MONGODB_PASSWORD', 'MONGODB_PASSWORD_FILE']) need(name, 'MONGODB_USERNAME');
  need('MONGODB_USERNAME', 'MONGODB_PASSWORD', 'MONGODB_PASSWORD_FILE');
  for (const side of ['KAFKA_TLS', 'REDIS_TLS', 'QUERY_TLS']) {
    need(`${side}_CERT_FILE`, `${side}_KEY_FILE`);
    need(`${side}_KEY_FILE`, `${side}_CERT_FILE`);
  }
  for (const file of ['KAFKA_TLS_CA_FILE', 'KAFKA_TLS_CERT_FILE']) {
    if (isSet(file) && env['KAFKA_TLS'] !== 'true') mistakes.push(`${file} needs KAFKA_TLS=true`);
  }
  for (const file of ['REDIS_TLS_CA_FILE', 'REDIS_TLS_CERT_FILE']) {
    if (isSet(file) && !env['REDIS_URL']?.startsWith('rediss')) {
      mistakes.push(`${file} needs an address in REDIS_URL that begins with rediss`);
    }
  }
  need('KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME');
  need('KAFKA_SASL_MECHANISM', 'KAFKA_SASL_PASSWORD', 'KAFKA_SASL_PASSWORD_FILE');
  if (env['KAFKA_SASL_MECHANISM'] === 'oauthbearer')
    need('KAFKA_SASL_MECHANISM', 'KAFKA_SASL_TOKEN_URL');
  for (const name of ['USERNAME', 'PASSWORD', 'PASSWORD_FILE', 'TOKEN_URL']) {
    need(`KAFKA_SASL_${name}`, 'KAFKA_SASL_MECHANISM');
  }
  return mistakes;
}
