import { describe, expect, it } from 'vitest';
import { settingWarnings, readConfig } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';

const servers = {
  KAFKA_BROKERS: 'k1:9092,k2:9092',
  MONGODB_URI: 'mongodb://m',
  REDIS_URL: 'redis://r',
};

function mistakes(env: Record<string, string>): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof StoreDataError && error.code === 'config_invalid')
      return error.message.split('\n');
    throw error;
  }
}

describe('readConfig', () => {
  it('counts an empty variable as not set', () => {
    expect(readConfig({ ...servers, QUERY_PORT: '', SIGNING_KEYS: '' }).query.port).toBe(8_080);
  });

  it('reports all mistakes together, each with its name and the allowed values', () => {
    expect(
      mistakes({
        KAFKA_BROKERS: 'nowhere',
        QUERY_PORT: '65536',
        LOG_LEVEL: 'loud',
        ENVIRONMENTS: 'a,a',
        TRUSTED_PROXIES: 'all',
      }),
    ).toEqual([
      expect.stringMatching(/^ENVIRONMENTS must not repeat/),
      expect.stringMatching(/^LOG_LEVEL must be one of trace, debug/),
      expect.stringMatching(/^KAFKA_BROKERS must be host:port/),
      expect.stringMatching(/^MONGODB_URI is required/),
      expect.stringMatching(/^REDIS_URL is required/),
      expect.stringMatching(/^QUERY_PORT must be a whole number from 0 to 65535/),
      expect.stringMatching(/^TRUSTED_PROXIES must be an address/),
    ]);
  });

  it.each([
    ['ENVIRONMENTS', 'Production'],
    ['ENVIRONMENTS', ','],
    ['NAME_PREFIX', 'a-b'],
    ['MONGODB_URI', 'http://m'],
    ['REDIS_URL', 'r:6379'],
    ['QUOTA_REQUESTS', '0'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.0.0.1,::/0'],
    ['TRUSTED_PROXIES', '10.0.0.0/8/8'],
  ])('refuses %s=%s', (name, value) => {
    expect(mistakes({ ...servers, [name]: value })).toEqual([expect.stringContaining(name)]);
  });

  it.each([
    ['REDIS_URL', 'redis://:se/CRET@host'],
    ['MONGODB_URI', 'mongodb://user:se?CRET@host/'],
    ['KAFKA_BROKERS', 'user:CRET@host:9092'],
  ])('refuses %s where its host is uncertain, and does not quote it: %s', (name, value) => {
    const [mistake = '', ...more] = mistakes({ ...servers, [name]: value });
    expect(more).toEqual([]);
    expect(mistake).toContain(name);
    expect(mistake).not.toContain('CRET');
  });

  it('accepts proxies by address and by network, IPv4 and IPv6', () => {
    const named = ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '::1'];
    expect(
      readConfig({ ...servers, TRUSTED_PROXIES: named.join(', ') }).query.trustedProxies,
    ).toEqual(named);
  });

  it.each<[Record<string, string>, string]>([
    [{ SIGNING_KEYS: '{}', SIGNING_KEYS_FILE: 'keys.json' }, 'SIGNING_KEYS and'],
    [{ KAFKA_SASL_PASSWORD: 'a', KAFKA_SASL_PASSWORD_FILE: 'b' }, 'KAFKA_SASL_PASSWORD and'],
    [{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_PASSWORD: 'a' }, 'needs KAFKA_SASL_USERNAME'],
    [{ KAFKA_SASL_USERNAME: 'a' }, 'KAFKA_SASL_USERNAME needs KAFKA_SASL_MECHANISM'],
    [{ KAFKA_TLS_CA_FILE: 'a' }, 'KAFKA_TLS_CA_FILE needs KAFKA_TLS=true'],
    [
      { KAFKA_TLS: 'true', KAFKA_TLS_CERT_FILE: 'a' },
      'KAFKA_TLS_CERT_FILE needs KAFKA_TLS_KEY_FILE',
    ],
    [{ KAFKA_TLS: 'yes' }, 'KAFKA_TLS must be true or false'],
    [{ MONGODB_USERNAME: 'a' }, 'MONGODB_USERNAME needs MONGODB_PASSWORD'],
    [{ REDIS_TLS_CA_FILE: 'a' }, 'REDIS_TLS_CA_FILE needs an address'],
    [{ QUERY_TLS_KEY_FILE: 'a' }, 'QUERY_TLS_KEY_FILE needs QUERY_TLS_CERT_FILE'],
  ])('says of %o what is missing or too much', (env, told) => {
    expect(mistakes({ ...servers, ...env })).toContainEqual(expect.stringContaining(told));
  });
});

describe('settingWarnings', () => {
  it.each(['http/protobuf', 'grpc'])('accepts the protocol %s of a collector', (protocol) => {
    const env = { ...servers, OTEL_EXPORTER_OTLP_PROTOCOL: protocol };
    expect(readConfig(env).tracing.endpoint).toBeNull();
    expect(settingWarnings(env)).toEqual([
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and spans are sent as http/json: the collector must accept that`,
    ]);
    expect(settingWarnings({ ...servers, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })).toEqual([]);
  });

  it('names the setting that is nearest to a similar name', () => {
    const others = { PATH: '/bin', HOME: '/', QUERY_PORT: '1' };
    expect(
      settingWarnings({ ...servers, ...others, QUOTA_REQUEST: '1', MONGODB_URL: 'x' }),
    ).toEqual([
      'QUOTA_REQUEST is not a setting; the nearest is QUOTA_REQUESTS',
      'MONGODB_URL is not a setting; the nearest is MONGODB_URI',
    ]);
  });
});
