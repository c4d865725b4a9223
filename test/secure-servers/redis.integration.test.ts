import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { createRedis } from '#shared/redis.ts';
import { useFolder } from '#test/folder.ts';
import { makeClientFiles } from '#test/certificates.ts';
import { PASSWORD, type SecureRedis, startSecureRedis, USER } from './redis.ts';

const OTHERS = {
  KAFKA_BROKERS: '127.0.0.1:1',
  MONGODB_URI: 'mongodb://127.0.0.1',
  REDIS_COMMAND_TIMEOUT_MS: '5000',
};

describe('Redis by TLS', () => {
  const folder = useFolder();
  let redis: SecureRedis;
  let files: Awaited<ReturnType<typeof makeClientFiles>>['files'];
  beforeAll(async () => {
    const made = await makeClientFiles(folder, PASSWORD);
    files = made.files;
    redis = await startSecureRedis(made.authority);
  });
  afterAll(async () => {
    await redis?.close();
  });

  /** Who a client with these settings is taken for, or the reason why for nobody. */
  async function meet(env: Record<string, string> = {}): Promise<string> {
    const config = readConfig({
      ...OTHERS,
      REDIS_URL: redis.url,
      REDIS_TLS_CA_FILE: files.ca,
      REDIS_TLS_CERT_FILE: files.cert,
      REDIS_TLS_KEY_FILE: files.key,
      REDIS_USERNAME: USER,
      REDIS_PASSWORD: PASSWORD,
      ...env,
    });
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    const client = createRedis(config, { away: failed.reject });
    try {
      await Promise.race([client.ready(20_000), failed.promise]);
      return String(await client.all()[0]?.redis.call('ACL', 'WHOAMI'));
    } catch (error) {
      return `${describeError(error)}; ${client.refusal()}`;
    } finally {
      client.disconnect();
    }
  }

  it('takes a password out of a file', async () => {
    expect(await meet({ REDIS_PASSWORD: '', REDIS_PASSWORD_FILE: files.password })).toBe(USER);
  });

  it('takes credentials out of the address', async () => {
    const credentials = `${USER}:${encodeURIComponent(PASSWORD)}@`;
    const address = redis.url.replace('//', `//${credentials}`);
    expect(await meet({ REDIS_URL: address, REDIS_USERNAME: '', REDIS_PASSWORD: '' })).toBe(USER);
  });

  it.each([
    ['a wrong password', () => meet({ REDIS_PASSWORD: 'wrong' }), /WRONGPASS.*Correct REDIS_USERNAME, REDIS_PASSWORD/],
    ['no password', () => meet({ REDIS_PASSWORD: '', REDIS_USERNAME: '' }), /NOAUTH.*Correct REDIS_USERNAME/],
    [
      'an authority that does not vouch for the server',
      () => meet({ REDIS_TLS_CA_FILE: files.otherCa }),
      /certificate.*Correct REDIS_TLS_CA_FILE/,
    ],
    [
      'an expired certificate of the server',
      () => meet({ REDIS_URL: redis.expiredUrl }),
      /certificate has expired.*Correct REDIS_TLS_CA_FILE/,
    ],
    [
      'no certificate',
      () => meet({ REDIS_TLS_CERT_FILE: '', REDIS_TLS_KEY_FILE: '' }),
      /certificate.*REDIS_TLS_CERT_FILE/,
    ],
  ])('tells %s', async (_case, meeting, told) => {
    expect(await meeting()).toMatch(told);
  });
});
